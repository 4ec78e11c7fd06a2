"""Kinetograph in ComfyUI. Link or copy this folder to `ComfyUI/custom_nodes/kinetograph`, and install the package
`kinetograph` into ComfyUI's environment (docs/python.md)."""

from .nodes import NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS

__all__ = ["NODE_CLASS_MAPPINGS", "NODE_DISPLAY_NAME_MAPPINGS"]

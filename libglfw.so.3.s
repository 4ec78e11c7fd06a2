.text
.globl glfwCreateStandardCursor
.type glfwCreateStandardCursor,@function
glfwCreateStandardCursor: xor %eax,%eax
ret
.globl glfwCreateWindow
.type glfwCreateWindow,@function
glfwCreateWindow: xor %eax,%eax
ret
.globl glfwCreateWindowSurface
.type glfwCreateWindowSurface,@function
glfwCreateWindowSurface: xor %eax,%eax
ret
.globl glfwDefaultWindowHints
.type glfwDefaultWindowHints,@function
glfwDefaultWindowHints: xor %eax,%eax
ret
.globl glfwDestroyCursor
.type glfwDestroyCursor,@function
glfwDestroyCursor: xor %eax,%eax
ret
.globl glfwDestroyWindow
.type glfwDestroyWindow,@function
glfwDestroyWindow: xor %eax,%eax
ret
.globl glfwGetClipboardString
.type glfwGetClipboardString,@function
glfwGetClipboardString: xor %eax,%eax
ret
.globl glfwGetCursorPos
.type glfwGetCursorPos,@function
glfwGetCursorPos: xor %eax,%eax
ret
.globl glfwGetError
.type glfwGetError,@function
glfwGetError: xor %eax,%eax
ret
.globl glfwGetFramebufferSize
.type glfwGetFramebufferSize,@function
glfwGetFramebufferSize: xor %eax,%eax
ret
.globl glfwGetInputMode
.type glfwGetInputMode,@function
glfwGetInputMode: xor %eax,%eax
ret
.globl glfwGetJoystickAxes
.type glfwGetJoystickAxes,@function
glfwGetJoystickAxes: xor %eax,%eax
ret
.globl glfwGetJoystickButtons
.type glfwGetJoystickButtons,@function
glfwGetJoystickButtons: xor %eax,%eax
ret
.globl glfwGetMonitorWorkarea
.type glfwGetMonitorWorkarea,@function
glfwGetMonitorWorkarea: xor %eax,%eax
ret
.globl glfwGetMouseButton
.type glfwGetMouseButton,@function
glfwGetMouseButton: xor %eax,%eax
ret
.globl glfwGetPrimaryMonitor
.type glfwGetPrimaryMonitor,@function
glfwGetPrimaryMonitor: xor %eax,%eax
ret
.globl glfwGetRequiredInstanceExtensions
.type glfwGetRequiredInstanceExtensions,@function
glfwGetRequiredInstanceExtensions: xor %eax,%eax
ret
.globl glfwGetTime
.type glfwGetTime,@function
glfwGetTime: xor %eax,%eax
ret
.globl glfwGetVideoMode
.type glfwGetVideoMode,@function
glfwGetVideoMode: xor %eax,%eax
ret
.globl glfwGetWindowAttrib
.type glfwGetWindowAttrib,@function
glfwGetWindowAttrib: xor %eax,%eax
ret
.globl glfwGetWindowContentScale
.type glfwGetWindowContentScale,@function
glfwGetWindowContentScale: xor %eax,%eax
ret
.globl glfwGetWindowFrameSize
.type glfwGetWindowFrameSize,@function
glfwGetWindowFrameSize: xor %eax,%eax
ret
.globl glfwGetWindowMonitor
.type glfwGetWindowMonitor,@function
glfwGetWindowMonitor: xor %eax,%eax
ret
.globl glfwGetWindowPos
.type glfwGetWindowPos,@function
glfwGetWindowPos: xor %eax,%eax
ret
.globl glfwGetWindowSize
.type glfwGetWindowSize,@function
glfwGetWindowSize: xor %eax,%eax
ret
.globl glfwGetWindowUserPointer
.type glfwGetWindowUserPointer,@function
glfwGetWindowUserPointer: xor %eax,%eax
ret
.globl glfwInit
.type glfwInit,@function
glfwInit: xor %eax,%eax
ret
.globl glfwPollEvents
.type glfwPollEvents,@function
glfwPollEvents: xor %eax,%eax
ret
.globl glfwSetCharCallback
.type glfwSetCharCallback,@function
glfwSetCharCallback: xor %eax,%eax
ret
.globl glfwSetClipboardString
.type glfwSetClipboardString,@function
glfwSetClipboardString: xor %eax,%eax
ret
.globl glfwSetCursor
.type glfwSetCursor,@function
glfwSetCursor: xor %eax,%eax
ret
.globl glfwSetCursorEnterCallback
.type glfwSetCursorEnterCallback,@function
glfwSetCursorEnterCallback: xor %eax,%eax
ret
.globl glfwSetCursorPos
.type glfwSetCursorPos,@function
glfwSetCursorPos: xor %eax,%eax
ret
.globl glfwSetDropCallback
.type glfwSetDropCallback,@function
glfwSetDropCallback: xor %eax,%eax
ret
.globl glfwSetErrorCallback
.type glfwSetErrorCallback,@function
glfwSetErrorCallback: xor %eax,%eax
ret
.globl glfwSetInputMode
.type glfwSetInputMode,@function
glfwSetInputMode: xor %eax,%eax
ret
.globl glfwSetKeyCallback
.type glfwSetKeyCallback,@function
glfwSetKeyCallback: xor %eax,%eax
ret
.globl glfwSetMonitorCallback
.type glfwSetMonitorCallback,@function
glfwSetMonitorCallback: xor %eax,%eax
ret
.globl glfwSetMouseButtonCallback
.type glfwSetMouseButtonCallback,@function
glfwSetMouseButtonCallback: xor %eax,%eax
ret
.globl glfwSetScrollCallback
.type glfwSetScrollCallback,@function
glfwSetScrollCallback: xor %eax,%eax
ret
.globl glfwSetWindowCloseCallback
.type glfwSetWindowCloseCallback,@function
glfwSetWindowCloseCallback: xor %eax,%eax
ret
.globl glfwSetWindowFocusCallback
.type glfwSetWindowFocusCallback,@function
glfwSetWindowFocusCallback: xor %eax,%eax
ret
.globl glfwSetWindowMonitor
.type glfwSetWindowMonitor,@function
glfwSetWindowMonitor: xor %eax,%eax
ret
.globl glfwSetWindowPos
.type glfwSetWindowPos,@function
glfwSetWindowPos: xor %eax,%eax
ret
.globl glfwSetWindowSize
.type glfwSetWindowSize,@function
glfwSetWindowSize: xor %eax,%eax
ret
.globl glfwSetWindowTitle
.type glfwSetWindowTitle,@function
glfwSetWindowTitle: xor %eax,%eax
ret
.globl glfwSetWindowUserPointer
.type glfwSetWindowUserPointer,@function
glfwSetWindowUserPointer: xor %eax,%eax
ret
.globl glfwShowWindow
.type glfwShowWindow,@function
glfwShowWindow: xor %eax,%eax
ret
.globl glfwTerminate
.type glfwTerminate,@function
glfwTerminate: xor %eax,%eax
ret
.globl glfwVulkanSupported
.type glfwVulkanSupported,@function
glfwVulkanSupported: xor %eax,%eax
ret
.globl glfwWaitEventsTimeout
.type glfwWaitEventsTimeout,@function
glfwWaitEventsTimeout: xor %eax,%eax
ret
.globl glfwWindowHint
.type glfwWindowHint,@function
glfwWindowHint: xor %eax,%eax
ret
.section .note.GNU-stack,"",@progbits

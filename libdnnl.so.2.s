.text
.globl dnnl_dilated_convolution_forward_desc_init
.type dnnl_dilated_convolution_forward_desc_init,@function
dnnl_dilated_convolution_forward_desc_init: xor %eax,%eax
ret
.globl dnnl_engine_create
.type dnnl_engine_create,@function
dnnl_engine_create: xor %eax,%eax
ret
.globl dnnl_engine_destroy
.type dnnl_engine_destroy,@function
dnnl_engine_destroy: xor %eax,%eax
ret
.globl dnnl_get_effective_cpu_isa
.type dnnl_get_effective_cpu_isa,@function
dnnl_get_effective_cpu_isa: xor %eax,%eax
ret
.globl dnnl_matmul_desc_init
.type dnnl_matmul_desc_init,@function
dnnl_matmul_desc_init: xor %eax,%eax
ret
.globl dnnl_memory_create
.type dnnl_memory_create,@function
dnnl_memory_create: xor %eax,%eax
ret
.globl dnnl_memory_desc_equal
.type dnnl_memory_desc_equal,@function
dnnl_memory_desc_equal: xor %eax,%eax
ret
.globl dnnl_memory_desc_get_size
.type dnnl_memory_desc_get_size,@function
dnnl_memory_desc_get_size: xor %eax,%eax
ret
.globl dnnl_memory_desc_init_by_strides
.type dnnl_memory_desc_init_by_strides,@function
dnnl_memory_desc_init_by_strides: xor %eax,%eax
ret
.globl dnnl_memory_desc_init_by_tag
.type dnnl_memory_desc_init_by_tag,@function
dnnl_memory_desc_init_by_tag: xor %eax,%eax
ret
.globl dnnl_memory_destroy
.type dnnl_memory_destroy,@function
dnnl_memory_destroy: xor %eax,%eax
ret
.globl dnnl_memory_get_data_handle
.type dnnl_memory_get_data_handle,@function
dnnl_memory_get_data_handle: xor %eax,%eax
ret
.globl dnnl_memory_get_engine
.type dnnl_memory_get_engine,@function
dnnl_memory_get_engine: xor %eax,%eax
ret
.globl dnnl_memory_get_memory_desc
.type dnnl_memory_get_memory_desc,@function
dnnl_memory_get_memory_desc: xor %eax,%eax
ret
.globl dnnl_post_ops_append_binary
.type dnnl_post_ops_append_binary,@function
dnnl_post_ops_append_binary: xor %eax,%eax
ret
.globl dnnl_post_ops_append_eltwise
.type dnnl_post_ops_append_eltwise,@function
dnnl_post_ops_append_eltwise: xor %eax,%eax
ret
.globl dnnl_post_ops_append_sum
.type dnnl_post_ops_append_sum,@function
dnnl_post_ops_append_sum: xor %eax,%eax
ret
.globl dnnl_post_ops_create
.type dnnl_post_ops_create,@function
dnnl_post_ops_create: xor %eax,%eax
ret
.globl dnnl_post_ops_destroy
.type dnnl_post_ops_destroy,@function
dnnl_post_ops_destroy: xor %eax,%eax
ret
.globl dnnl_post_ops_len
.type dnnl_post_ops_len,@function
dnnl_post_ops_len: xor %eax,%eax
ret
.globl dnnl_primitive_attr_create
.type dnnl_primitive_attr_create,@function
dnnl_primitive_attr_create: xor %eax,%eax
ret
.globl dnnl_primitive_attr_destroy
.type dnnl_primitive_attr_destroy,@function
dnnl_primitive_attr_destroy: xor %eax,%eax
ret
.globl dnnl_primitive_attr_set_output_scales
.type dnnl_primitive_attr_set_output_scales,@function
dnnl_primitive_attr_set_output_scales: xor %eax,%eax
ret
.globl dnnl_primitive_attr_set_post_ops
.type dnnl_primitive_attr_set_post_ops,@function
dnnl_primitive_attr_set_post_ops: xor %eax,%eax
ret
.globl dnnl_primitive_create
.type dnnl_primitive_create,@function
dnnl_primitive_create: xor %eax,%eax
ret
.globl dnnl_primitive_desc_destroy
.type dnnl_primitive_desc_destroy,@function
dnnl_primitive_desc_destroy: xor %eax,%eax
ret
.globl dnnl_primitive_desc_iterator_create
.type dnnl_primitive_desc_iterator_create,@function
dnnl_primitive_desc_iterator_create: xor %eax,%eax
ret
.globl dnnl_primitive_desc_iterator_destroy
.type dnnl_primitive_desc_iterator_destroy,@function
dnnl_primitive_desc_iterator_destroy: xor %eax,%eax
ret
.globl dnnl_primitive_desc_iterator_fetch
.type dnnl_primitive_desc_iterator_fetch,@function
dnnl_primitive_desc_iterator_fetch: xor %eax,%eax
ret
.globl dnnl_primitive_desc_query_md
.type dnnl_primitive_desc_query_md,@function
dnnl_primitive_desc_query_md: xor %eax,%eax
ret
.globl dnnl_primitive_destroy
.type dnnl_primitive_destroy,@function
dnnl_primitive_destroy: xor %eax,%eax
ret
.globl dnnl_primitive_execute
.type dnnl_primitive_execute,@function
dnnl_primitive_execute: xor %eax,%eax
ret
.globl dnnl_reorder_primitive_desc_create
.type dnnl_reorder_primitive_desc_create,@function
dnnl_reorder_primitive_desc_create: xor %eax,%eax
ret
.globl dnnl_set_max_cpu_isa
.type dnnl_set_max_cpu_isa,@function
dnnl_set_max_cpu_isa: xor %eax,%eax
ret
.globl dnnl_stream_create
.type dnnl_stream_create,@function
dnnl_stream_create: xor %eax,%eax
ret
.globl dnnl_stream_destroy
.type dnnl_stream_destroy,@function
dnnl_stream_destroy: xor %eax,%eax
ret
.globl dnnl_stream_wait
.type dnnl_stream_wait,@function
dnnl_stream_wait: xor %eax,%eax
ret
.globl dnnl_version
.type dnnl_version,@function
dnnl_version: xor %eax,%eax
ret
.section .note.GNU-stack,"",@progbits

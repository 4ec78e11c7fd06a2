.text
.globl av_d2q
.type av_d2q,@function
av_d2q: xor %eax,%eax
ret
.globl av_dict_free
.type av_dict_free,@function
av_dict_free: xor %eax,%eax
ret
.globl av_dict_set
.type av_dict_set,@function
av_dict_set: xor %eax,%eax
ret
.globl av_frame_alloc
.type av_frame_alloc,@function
av_frame_alloc: xor %eax,%eax
ret
.globl av_frame_free
.type av_frame_free,@function
av_frame_free: xor %eax,%eax
ret
.globl av_frame_get_buffer
.type av_frame_get_buffer,@function
av_frame_get_buffer: xor %eax,%eax
ret
.globl av_frame_make_writable
.type av_frame_make_writable,@function
av_frame_make_writable: xor %eax,%eax
ret
.globl av_log_set_level
.type av_log_set_level,@function
av_log_set_level: xor %eax,%eax
ret
.globl av_opt_set
.type av_opt_set,@function
av_opt_set: xor %eax,%eax
ret
.globl av_strerror
.type av_strerror,@function
av_strerror: xor %eax,%eax
ret
.section .note.GNU-stack,"",@progbits

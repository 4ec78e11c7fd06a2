.text
.globl av_interleaved_write_frame
.type av_interleaved_write_frame,@function
av_interleaved_write_frame: xor %eax,%eax
ret
.globl av_write_trailer
.type av_write_trailer,@function
av_write_trailer: xor %eax,%eax
ret
.globl avformat_alloc_output_context2
.type avformat_alloc_output_context2,@function
avformat_alloc_output_context2: xor %eax,%eax
ret
.globl avformat_free_context
.type avformat_free_context,@function
avformat_free_context: xor %eax,%eax
ret
.globl avformat_new_stream
.type avformat_new_stream,@function
avformat_new_stream: xor %eax,%eax
ret
.globl avformat_write_header
.type avformat_write_header,@function
avformat_write_header: xor %eax,%eax
ret
.globl avio_closep
.type avio_closep,@function
avio_closep: xor %eax,%eax
ret
.globl avio_open
.type avio_open,@function
avio_open: xor %eax,%eax
ret
.section .note.GNU-stack,"",@progbits

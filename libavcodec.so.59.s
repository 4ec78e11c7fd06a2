.text
.globl av_packet_alloc
.type av_packet_alloc,@function
av_packet_alloc: xor %eax,%eax
ret
.globl av_packet_free
.type av_packet_free,@function
av_packet_free: xor %eax,%eax
ret
.globl av_packet_rescale_ts
.type av_packet_rescale_ts,@function
av_packet_rescale_ts: xor %eax,%eax
ret
.globl avcodec_alloc_context3
.type avcodec_alloc_context3,@function
avcodec_alloc_context3: xor %eax,%eax
ret
.globl avcodec_find_encoder
.type avcodec_find_encoder,@function
avcodec_find_encoder: xor %eax,%eax
ret
.globl avcodec_find_encoder_by_name
.type avcodec_find_encoder_by_name,@function
avcodec_find_encoder_by_name: xor %eax,%eax
ret
.globl avcodec_free_context
.type avcodec_free_context,@function
avcodec_free_context: xor %eax,%eax
ret
.globl avcodec_open2
.type avcodec_open2,@function
avcodec_open2: xor %eax,%eax
ret
.globl avcodec_parameters_from_context
.type avcodec_parameters_from_context,@function
avcodec_parameters_from_context: xor %eax,%eax
ret
.globl avcodec_receive_packet
.type avcodec_receive_packet,@function
avcodec_receive_packet: xor %eax,%eax
ret
.globl avcodec_send_frame
.type avcodec_send_frame,@function
avcodec_send_frame: xor %eax,%eax
ret
.section .note.GNU-stack,"",@progbits

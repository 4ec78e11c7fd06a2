.text
.globl sws_freeContext
.type sws_freeContext,@function
sws_freeContext: xor %eax,%eax
ret
.globl sws_getCoefficients
.type sws_getCoefficients,@function
sws_getCoefficients: xor %eax,%eax
ret
.globl sws_getContext
.type sws_getContext,@function
sws_getContext: xor %eax,%eax
ret
.globl sws_scale
.type sws_scale,@function
sws_scale: xor %eax,%eax
ret
.globl sws_setColorspaceDetails
.type sws_setColorspaceDetails,@function
sws_setColorspaceDetails: xor %eax,%eax
ret
.section .note.GNU-stack,"",@progbits

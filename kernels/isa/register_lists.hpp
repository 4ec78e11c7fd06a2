#pragma once

/// Operand lists of inline PTX for instructions with many registers: KG_REGISTERS_n is "%0, ..., %(8n-1)" as text,
/// KG_OPERANDS_n(constraint, array) the operands themselves. Blocks of 8 registers, n = 1..16.

#if defined(__CUDACC__)

#define KG_BLOCK_0 "%0,%1,%2,%3,%4,%5,%6,%7"
#define KG_BLOCK_1 "%8,%9,%10,%11,%12,%13,%14,%15"
#define KG_BLOCK_2 "%16,%17,%18,%19,%20,%21,%22,%23"
#define KG_BLOCK_3 "%24,%25,%26,%27,%28,%29,%30,%31"
#define KG_BLOCK_4 "%32,%33,%34,%35,%36,%37,%38,%39"
#define KG_BLOCK_5 "%40,%41,%42,%43,%44,%45,%46,%47"
#define KG_BLOCK_6 "%48,%49,%50,%51,%52,%53,%54,%55"
#define KG_BLOCK_7 "%56,%57,%58,%59,%60,%61,%62,%63"
#define KG_BLOCK_8 "%64,%65,%66,%67,%68,%69,%70,%71"
#define KG_BLOCK_9 "%72,%73,%74,%75,%76,%77,%78,%79"
#define KG_BLOCK_10 "%80,%81,%82,%83,%84,%85,%86,%87"
#define KG_BLOCK_11 "%88,%89,%90,%91,%92,%93,%94,%95"
#define KG_BLOCK_12 "%96,%97,%98,%99,%100,%101,%102,%103"
#define KG_BLOCK_13 "%104,%105,%106,%107,%108,%109,%110,%111"
#define KG_BLOCK_14 "%112,%113,%114,%115,%116,%117,%118,%119"
#define KG_BLOCK_15 "%120,%121,%122,%123,%124,%125,%126,%127"

#define KG_REGISTERS_1 KG_BLOCK_0
#define KG_REGISTERS_2 KG_REGISTERS_1 "," KG_BLOCK_1
#define KG_REGISTERS_3 KG_REGISTERS_2 "," KG_BLOCK_2
#define KG_REGISTERS_4 KG_REGISTERS_3 "," KG_BLOCK_3
#define KG_REGISTERS_5 KG_REGISTERS_4 "," KG_BLOCK_4
#define KG_REGISTERS_6 KG_REGISTERS_5 "," KG_BLOCK_5
#define KG_REGISTERS_7 KG_REGISTERS_6 "," KG_BLOCK_6
#define KG_REGISTERS_8 KG_REGISTERS_7 "," KG_BLOCK_7
#define KG_REGISTERS_9 KG_REGISTERS_8 "," KG_BLOCK_8
#define KG_REGISTERS_10 KG_REGISTERS_9 "," KG_BLOCK_9
#define KG_REGISTERS_11 KG_REGISTERS_10 "," KG_BLOCK_10
#define KG_REGISTERS_12 KG_REGISTERS_11 "," KG_BLOCK_11
#define KG_REGISTERS_13 KG_REGISTERS_12 "," KG_BLOCK_12
#define KG_REGISTERS_14 KG_REGISTERS_13 "," KG_BLOCK_13
#define KG_REGISTERS_15 KG_REGISTERS_14 "," KG_BLOCK_14
#define KG_REGISTERS_16 KG_REGISTERS_15 "," KG_BLOCK_15

#define KG_EIGHT(k, r, b) \
    k(r[b]), k(r[(b) + 1]), k(r[(b) + 2]), k(r[(b) + 3]), k(r[(b) + 4]), k(r[(b) + 5]), k(r[(b) + 6]), k(r[(b) + 7])
#define KG_OPERANDS_1(k, r) KG_EIGHT(k, r, 0)
#define KG_OPERANDS_2(k, r) KG_OPERANDS_1(k, r), KG_EIGHT(k, r, 8)
#define KG_OPERANDS_3(k, r) KG_OPERANDS_2(k, r), KG_EIGHT(k, r, 16)
#define KG_OPERANDS_4(k, r) KG_OPERANDS_3(k, r), KG_EIGHT(k, r, 24)
#define KG_OPERANDS_5(k, r) KG_OPERANDS_4(k, r), KG_EIGHT(k, r, 32)
#define KG_OPERANDS_6(k, r) KG_OPERANDS_5(k, r), KG_EIGHT(k, r, 40)
#define KG_OPERANDS_7(k, r) KG_OPERANDS_6(k, r), KG_EIGHT(k, r, 48)
#define KG_OPERANDS_8(k, r) KG_OPERANDS_7(k, r), KG_EIGHT(k, r, 56)
#define KG_OPERANDS_9(k, r) KG_OPERANDS_8(k, r), KG_EIGHT(k, r, 64)
#define KG_OPERANDS_10(k, r) KG_OPERANDS_9(k, r), KG_EIGHT(k, r, 72)
#define KG_OPERANDS_11(k, r) KG_OPERANDS_10(k, r), KG_EIGHT(k, r, 80)
#define KG_OPERANDS_12(k, r) KG_OPERANDS_11(k, r), KG_EIGHT(k, r, 88)
#define KG_OPERANDS_13(k, r) KG_OPERANDS_12(k, r), KG_EIGHT(k, r, 96)
#define KG_OPERANDS_14(k, r) KG_OPERANDS_13(k, r), KG_EIGHT(k, r, 104)
#define KG_OPERANDS_15(k, r) KG_OPERANDS_14(k, r), KG_EIGHT(k, r, 112)
#define KG_OPERANDS_16(k, r) KG_OPERANDS_15(k, r), KG_EIGHT(k, r, 120)

/// Constraints as the lists take them: accumulators that are read and written, registers that are written.
#define KG_FLOAT_INOUT(x) "+f"(x)
#define KG_WORD_INOUT(x) "+r"(x)
#define KG_WORD_OUT(x) "=r"(x)

#endif

#include "textflag.h"

// func readLinesAVX512(base *byte, stride, step, count uintptr) uint64
//
// Eight cache lines per turn, one load each; sums of 64-bit words, so that a test can tell that
// every byte was read.
TEXT ·readLinesAVX512(SB), NOSPLIT, $0-40
	MOVQ base+0(FP), SI
	MOVQ stride+8(FP), DX
	MOVQ step+16(FP), BX
	MOVQ count+24(FP), CX
	LEAQ (DX)(DX*2), R8     // 3 strides
	LEAQ (SI)(DX*4), DI
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPXORQ Z7, Z7, Z7
	TESTQ CX, CX
	JZ    done512

loop512:
	VPADDQ (SI), Z0, Z0
	VPADDQ (SI)(DX*1), Z1, Z1
	VPADDQ (SI)(DX*2), Z2, Z2
	VPADDQ (SI)(R8*1), Z3, Z3
	VPADDQ (DI), Z4, Z4
	VPADDQ (DI)(DX*1), Z5, Z5
	VPADDQ (DI)(DX*2), Z6, Z6
	VPADDQ (DI)(R8*1), Z7, Z7
	ADDQ BX, SI
	ADDQ BX, DI
	DECQ CX
	JNZ  loop512

done512:
	VPADDQ Z1, Z0, Z0
	VPADDQ Z3, Z2, Z2
	VPADDQ Z5, Z4, Z4
	VPADDQ Z7, Z6, Z6
	VPADDQ Z2, Z0, Z0
	VPADDQ Z6, Z4, Z4
	VPADDQ Z4, Z0, Z0
	VEXTRACTI64X4 $1, Z0, Y1
	VPADDQ Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDQ X1, X0, X0
	VPSRLDQ $8, X0, X1
	VPADDQ X1, X0, X0
	VMOVQ X0, AX
	VZEROUPPER
	MOVQ AX, ret+32(FP)
	RET

// func readLinesAVX2(base *byte, stride, step, count uintptr) uint64
//
// As above, each line in two halves.
TEXT ·readLinesAVX2(SB), NOSPLIT, $0-40
	MOVQ base+0(FP), SI
	MOVQ stride+8(FP), DX
	MOVQ step+16(FP), BX
	MOVQ count+24(FP), CX
	LEAQ (DX)(DX*2), R8
	LEAQ (SI)(DX*4), DI
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	TESTQ CX, CX
	JZ    done256

loop256:
	VPADDQ (SI), Y0, Y0
	VPADDQ 32(SI), Y0, Y0
	VPADDQ (SI)(DX*1), Y1, Y1
	VPADDQ 32(SI)(DX*1), Y1, Y1
	VPADDQ (SI)(DX*2), Y2, Y2
	VPADDQ 32(SI)(DX*2), Y2, Y2
	VPADDQ (SI)(R8*1), Y3, Y3
	VPADDQ 32(SI)(R8*1), Y3, Y3
	VPADDQ (DI), Y4, Y4
	VPADDQ 32(DI), Y4, Y4
	VPADDQ (DI)(DX*1), Y5, Y5
	VPADDQ 32(DI)(DX*1), Y5, Y5
	VPADDQ (DI)(DX*2), Y6, Y6
	VPADDQ 32(DI)(DX*2), Y6, Y6
	VPADDQ (DI)(R8*1), Y7, Y7
	VPADDQ 32(DI)(R8*1), Y7, Y7
	ADDQ BX, SI
	ADDQ BX, DI
	DECQ CX
	JNZ  loop256

done256:
	VPADDQ Y1, Y0, Y0
	VPADDQ Y3, Y2, Y2
	VPADDQ Y5, Y4, Y4
	VPADDQ Y7, Y6, Y6
	VPADDQ Y2, Y0, Y0
	VPADDQ Y6, Y4, Y4
	VPADDQ Y4, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDQ X1, X0, X0
	VPSRLDQ $8, X0, X1
	VPADDQ X1, X0, X0
	VMOVQ X0, AX
	VZEROUPPER
	MOVQ AX, ret+32(FP)
	RET

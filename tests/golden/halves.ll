define internal void @tile(ptr readonly %p0, ptr %p1, ptr noalias readonly %words, ptr noalias readonly %frame, i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)  #0 {
entry:
  %t1 = getelementptr i32, ptr %words, i64 1
  %t2 = load i32, ptr %t1
  %t3 = getelementptr i32, ptr %words, i64 2
  %t4 = load i32, ptr %t3
  %t36 = alloca i32
  %t42 = alloca i32
  br label %start
start:
  %t5 = call i32 @llvm.umin.i32(i32 %x1, i32 %t2)
  %t6 = call i32 @llvm.umin.i32(i32 %t5, i32 %t4)
  %t7 = call i32 @llvm.umin.i32(i32 %x0, i32 %x1)
  %t8 = call i32 @llvm.umin.i32(i32 %t6, i32 %x1)
  %t9 = call i32 @llvm.umax.i32(i32 %t8, i32 %t7)
  %t10 = sub i32 %t9, %t7
  %t11 = and i32 %t10, -4
  %t12 = add i32 %t7, %t11
  %t13 = call i32 @llvm.umin.i32(i32 %y0, i32 %y1)
  %t14 = call i32 @llvm.umin.i32(i32 %y1, i32 %y1)
  %t15 = call i32 @llvm.umax.i32(i32 %t14, i32 %t13)
  %t16 = icmp ult i32 %x0, %x1
  %t17 = icmp ult i32 %y0, %t13
  %t18 = and i1 %t16, %t17
  br i1 %t18, label %t19, label %t20
t19:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %y0, i32 %t13, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t20
t20:
  %t21 = icmp ult i32 %x0, %x1
  %t22 = icmp ult i32 %t15, %y1
  %t23 = and i1 %t21, %t22
  br i1 %t23, label %t24, label %t25
t24:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %t15, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t25
t25:
  %t26 = icmp ult i32 %x0, %t7
  %t27 = icmp ult i32 %t13, %t15
  %t28 = and i1 %t26, %t27
  br i1 %t28, label %t29, label %t30
t29:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %x0, i32 %t7, i32 %t13, i32 %t15, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t30
t30:
  %t31 = icmp ult i32 %t12, %x1
  %t32 = icmp ult i32 %t13, %t15
  %t33 = and i1 %t31, %t32
  br i1 %t33, label %t34, label %t35
t34:
  call void @edge(ptr %p0, ptr %p1, ptr %words, ptr %frame, i32 %t12, i32 %x1, i32 %t13, i32 %t15, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t35
t35:
  store i32 %t13, ptr %t36
  br label %t37
t37:
  %t40 = load i32, ptr %t36
  %t41 = icmp ult i32 %t40, %t15
  br i1 %t41, label %t38, label %t39
t38:
  store i32 %t7, ptr %t42
  br label %t43
t43:
  %t46 = load i32, ptr %t42
  %t47 = icmp ult i32 %t46, %t12
  br i1 %t47, label %t44, label %t45
t44:
  %t49 = zext i32 %t46 to i64
  %t50 = getelementptr i16, ptr %p0, i64 %t49
  %t51 = load <4 x i16>, ptr %t50, align 2
  %t52 = zext <4 x i16> %t51 to <4 x i32>
  %t53 = and <4 x i32> %t52, splat (i32 32768)
  %t54 = shl <4 x i32> %t53, splat (i32 16)
  %t55 = and <4 x i32> %t52, splat (i32 32767)
  %t56 = shl <4 x i32> %t55, splat (i32 13)
  %t57 = add <4 x i32> %t56, splat (i32 939524096)
  %t58 = or <4 x i32> %t56, splat (i32 2139095040)
  %t59 = uitofp <4 x i32> %t55 to <4 x float>
  %t60 = fmul <4 x float> %t59, splat (float 0x3E70000000000000)
  %t61 = icmp uge <4 x i32> %t55, splat (i32 31744)
  %t62 = select <4 x i1> %t61, <4 x i32> %t58, <4 x i32> %t57
  %t63 = icmp ult <4 x i32> %t55, splat (i32 1024)
  %t64 = bitcast <4 x float> %t60 to <4 x i32>
  %t65 = select <4 x i1> %t63, <4 x i32> %t64, <4 x i32> %t62
  %t66 = or <4 x i32> %t54, %t65
  %t67 = bitcast <4 x i32> %t66 to <4 x float>
  %t68 = fneg <4 x float> %t67
  %t69 = bitcast <4 x float> %t68 to <4 x i32>
  %t70 = lshr <4 x i32> %t69, splat (i32 16)
  %t71 = and <4 x i32> %t70, splat (i32 32768)
  %t72 = and <4 x i32> %t69, splat (i32 2147483647)
  %t73 = bitcast <4 x i32> %t72 to <4 x float>
  %t74 = fmul <4 x float> %t73, splat (float 0x4170000000000000)
  %t75 = call <4 x float> @llvm.roundeven.v4f32(<4 x float> %t74)
  %t76 = call <4 x i32> @llvm.fptoui.sat.v4i32.v4f32(<4 x float> %t75)
  %t77 = sub <4 x i32> %t72, splat (i32 939524096)
  %t78 = lshr <4 x i32> %t77, splat (i32 13)
  %t79 = and <4 x i32> %t78, splat (i32 1)
  %t80 = add <4 x i32> %t77, splat (i32 4095)
  %t81 = add <4 x i32> %t80, %t79
  %t82 = lshr <4 x i32> %t81, splat (i32 13)
  %t83 = icmp ult <4 x i32> %t72, splat (i32 947912704)
  %t84 = select <4 x i1> %t83, <4 x i32> %t76, <4 x i32> %t82
  %t85 = icmp uge <4 x i32> %t72, splat (i32 1199566848)
  %t86 = select <4 x i1> %t85, <4 x i32> splat (i32 31744), <4 x i32> %t84
  %t87 = icmp ugt <4 x i32> %t72, splat (i32 2139095040)
  %t88 = select <4 x i1> %t87, <4 x i32> splat (i32 32256), <4 x i32> %t86
  %t89 = or <4 x i32> %t71, %t88
  %t90 = trunc <4 x i32> %t89 to <4 x i16>
  %t91 = zext i32 %t46 to i64
  %t92 = getelementptr i16, ptr %p1, i64 %t91
  store <4 x i16> %t90, ptr %t92, align 2
  br label %t48
t48:
  %t93 = add nuw i32 %t46, 4
  store i32 %t93, ptr %t42
  br label %t43
t45:
  %t94 = add nuw i32 %t40, 1
  store i32 %t94, ptr %t36
  br label %t37
t39:
  ret void
}

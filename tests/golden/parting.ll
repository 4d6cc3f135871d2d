define internal void @tile(ptr noalias %p0, ptr noalias readonly %words, ptr noalias readonly %frame, i32 %x0, i32 %x1, i32 %y0, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)  #0 {
entry:
  %t1 = getelementptr i32, ptr %words, i64 1
  %t2 = load i32, ptr %t1
  %t33 = alloca i32
  %t39 = alloca i32
  %t49 = alloca <8 x i32>
  %t50 = alloca <8 x i1>
  br label %start
start:
  %t3 = call i32 @llvm.umin.i32(i32 %x1, i32 %t2)
  %t4 = call i32 @llvm.umin.i32(i32 %x0, i32 %x1)
  %t5 = call i32 @llvm.umin.i32(i32 %t3, i32 %x1)
  %t6 = call i32 @llvm.umax.i32(i32 %t5, i32 %t4)
  %t7 = sub i32 %t6, %t4
  %t8 = and i32 %t7, -8
  %t9 = add i32 %t4, %t8
  %t10 = call i32 @llvm.umin.i32(i32 %y0, i32 %y1)
  %t11 = call i32 @llvm.umin.i32(i32 %y1, i32 %y1)
  %t12 = call i32 @llvm.umax.i32(i32 %t11, i32 %t10)
  %t13 = icmp ult i32 %x0, %x1
  %t14 = icmp ult i32 %y0, %t10
  %t15 = and i1 %t13, %t14
  br i1 %t15, label %t16, label %t17
t16:
  call void @edge(ptr %p0, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %y0, i32 %t10, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t17
t17:
  %t18 = icmp ult i32 %x0, %x1
  %t19 = icmp ult i32 %t12, %y1
  %t20 = and i1 %t18, %t19
  br i1 %t20, label %t21, label %t22
t21:
  call void @edge(ptr %p0, ptr %words, ptr %frame, i32 %x0, i32 %x1, i32 %t12, i32 %y1, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t22
t22:
  %t23 = icmp ult i32 %x0, %t4
  %t24 = icmp ult i32 %t10, %t12
  %t25 = and i1 %t23, %t24
  br i1 %t25, label %t26, label %t27
t26:
  call void @edge(ptr %p0, ptr %words, ptr %frame, i32 %x0, i32 %t4, i32 %t10, i32 %t12, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t27
t27:
  %t28 = icmp ult i32 %t9, %x1
  %t29 = icmp ult i32 %t10, %t12
  %t30 = and i1 %t28, %t29
  br i1 %t30, label %t31, label %t32
t31:
  call void @edge(ptr %p0, ptr %words, ptr %frame, i32 %t9, i32 %x1, i32 %t10, i32 %t12, i32 %z, i32 %ox, i32 %oy, i32 %oz)
  br label %t32
t32:
  store i32 %t10, ptr %t33
  br label %t34
t34:
  %t37 = load i32, ptr %t33
  %t38 = icmp ult i32 %t37, %t12
  br i1 %t38, label %t35, label %t36
t35:
  store i32 %t4, ptr %t39
  br label %t40
t40:
  %t43 = load i32, ptr %t39
  %t44 = icmp ult i32 %t43, %t9
  br i1 %t44, label %t41, label %t42
t41:
  %t46 = zext i32 %t43 to i64
  %t47 = getelementptr i32, ptr %p0, i64 %t46
  %t48 = load <8 x i32>, ptr %t47, align 4
  store <8 x i32> %t48, ptr %t49
  store <8 x i1> splat (i1 true), ptr %t50
  br label %t51
t51:
  %t54 = load <8 x i1>, ptr %t50
  %t55 = load <8 x i32>, ptr %t49
  %t56 = icmp ult <8 x i32> %t55, splat (i32 100)
  %t57 = and <8 x i1> %t54, %t56
  store <8 x i1> %t57, ptr %t50
  %t58 = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %t57)
  br i1 %t58, label %t52, label %t53
t52:
  %t59 = load <8 x i32>, ptr %t49
  %t60 = mul <8 x i32> %t59, splat (i32 3)
  %t61 = add <8 x i32> %t60, splat (i32 1)
  %t62 = load <8 x i32>, ptr %t49
  %t63 = select <8 x i1> %t57, <8 x i32> %t61, <8 x i32> %t62
  store <8 x i32> %t63, ptr %t49
  br label %t51
t53:
  %t64 = load <8 x i32>, ptr %t49
  %t65 = zext i32 %t43 to i64
  %t66 = getelementptr i32, ptr %p0, i64 %t65
  store <8 x i32> %t64, ptr %t66, align 4
  br label %t45
t45:
  %t67 = add nuw i32 %t43, 8
  store i32 %t67, ptr %t39
  br label %t40
t42:
  %t68 = add nuw i32 %t37, 1
  store i32 %t68, ptr %t33
  br label %t34
t36:
  ret void
}

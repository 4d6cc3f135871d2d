define internal void @group_rows(ptr noalias %p0, ptr noalias readonly %words, ptr noalias readonly %frame, ptr noalias %s0, i32 %gx, i32 %gy, i32 %gz) noinline #0 {
entry:
  %t1 = getelementptr i8, ptr %frame, i64 0
  %t2 = load i32, ptr %t1
  %t3 = getelementptr i8, ptr %frame, i64 4
  %t4 = load i32, ptr %t3
  %t5 = getelementptr i8, ptr %frame, i64 8
  %t6 = load i32, ptr %t5
  %t7 = mul i32 %t2, %t4
  %t8 = mul i32 %t7, %t6
  %t9 = add i32 %t8, 16
  %t10 = getelementptr i32, ptr %words, i64 1
  %t11 = load i32, ptr %t10
  %t12 = alloca i32
  %t21 = alloca i32, i32 %t9, align 64
  %t39 = alloca i32
  br label %start
start:
  store i32 0, ptr %t12
  br label %t13
t13:
  %t16 = load i32, ptr %t12
  %t17 = icmp ult i32 %t16, %t8
  br i1 %t17, label %t14, label %t15
t14:
  %t19 = udiv i32 %t16, %t2
  %t20 = urem i32 %t16, %t2
  %t22 = getelementptr i32, ptr %t21, i32 %t16
  %t23 = insertelement <16 x i32> poison, i32 %t20, i64 0
  %t24 = shufflevector <16 x i32> %t23, <16 x i32> poison, <16 x i32> zeroinitializer
  %t25 = add <16 x i32> %t24, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  store <16 x i32> %t25, ptr %t22
  %t26 = udiv i32 %t16, %t2
  %t27 = urem i32 %t16, %t2
  %t28 = mul i32 %gx, %t2
  %t29 = add i32 %t28, %t27
  %t30 = insertelement <16 x i32> poison, i32 %t29, i64 0
  %t31 = shufflevector <16 x i32> %t30, <16 x i32> poison, <16 x i32> zeroinitializer
  %t32 = add <16 x i32> %t31, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %t33 = uitofp <16 x i32> %t32 to <16 x float>
  %t34 = load <16 x i32>, ptr %t22
  %t35 = icmp ult <16 x i32> %t34, splat (i32 64)
  %t36 = zext <16 x i32> %t34 to <16 x i64>
  %t37 = getelementptr float, ptr %s0, <16 x i64> %t36
  call void @llvm.masked.scatter.v16f32.v16p0(<16 x float> %t33, <16 x ptr> %t37, i32 4, <16 x i1> %t35)
  br label %t18
t18:
  %t38 = add nuw i32 %t16, 16
  store i32 %t38, ptr %t12
  br label %t13
t15:
  store i32 0, ptr %t39
  br label %t40
t40:
  %t43 = load i32, ptr %t39
  %t44 = icmp ult i32 %t43, %t8
  br i1 %t44, label %t41, label %t42
t41:
  %t45 = getelementptr i32, ptr %t21, i32 %t43
  %t47 = load <16 x i32>, ptr %t45
  %t48 = sub <16 x i32> splat (i32 63), %t47
  %t49 = icmp ult <16 x i32> %t48, splat (i32 64)
  %t50 = zext <16 x i32> %t48 to <16 x i64>
  %t51 = getelementptr float, ptr %s0, <16 x i64> %t50
  %t52 = call <16 x float> @llvm.masked.gather.v16f32.v16p0(<16 x ptr> %t51, i32 4, <16 x i1> %t49, <16 x float> zeroinitializer)
  %t53 = udiv i32 %t43, %t2
  %t54 = urem i32 %t43, %t2
  %t55 = mul i32 %gx, %t2
  %t56 = add i32 %t55, %t54
  %t57 = insertelement <16 x i32> poison, i32 %t56, i64 0
  %t58 = shufflevector <16 x i32> %t57, <16 x i32> poison, <16 x i32> zeroinitializer
  %t59 = add <16 x i32> %t58, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %t60 = insertelement <16 x i32> poison, i32 %t11, i64 0
  %t61 = shufflevector <16 x i32> %t60, <16 x i32> poison, <16 x i32> zeroinitializer
  %t62 = icmp ult <16 x i32> %t59, %t61
  %t63 = icmp ugt i32 %t56, -17
  %t64 = sext i32 %t56 to i64
  %t65 = zext i32 %t56 to i64
  %t66 = select i1 %t63, i64 %t64, i64 %t65
  %t67 = getelementptr float, ptr %p0, i64 %t66
  call void @llvm.masked.store.v16f32.p0(<16 x float> %t52, ptr %t67, i32 4, <16 x i1> %t62)
  br label %t46
t46:
  %t68 = add nuw i32 %t43, 16
  store i32 %t68, ptr %t39
  br label %t40
t42:
  br label %end
end:
  ret void
}
define void @vyre_task(ptr %frame, i64 %first, i64 %last)  #0 {
entry:
  %t1 = getelementptr i8, ptr %frame, i64 32
  %p0 = load ptr, ptr %t1
  %words = getelementptr i8, ptr %frame, i64 40
  %s0 = alloca [64 x float], align 64
  %t2 = getelementptr i8, ptr %frame, i64 0
  %t3 = load i32, ptr %t2
  %t4 = getelementptr i8, ptr %frame, i64 12
  %t5 = load i32, ptr %t4
  %t6 = getelementptr i8, ptr %frame, i64 16
  %t7 = load i32, ptr %t6
  %t8 = getelementptr i8, ptr %frame, i64 20
  %t9 = load i32, ptr %t8
  %t12 = alloca i64
  br label %start
start:
  %t10 = urem i32 %t3, 16
  %t11 = icmp eq i32 %t10, 0
  store i64 %first, ptr %t12
  br label %t13
t13:
  %t16 = load i64, ptr %t12
  %t17 = icmp ult i64 %t16, %last
  br i1 %t17, label %t14, label %t15
t14:
  call void @llvm.memset.p0.i64(ptr %s0, i8 0, i64 256, i1 false)
  %t18 = zext i32 %t5 to i64
  %t19 = zext i32 %t7 to i64
  %t20 = zext i32 %t9 to i64
  %t21 = urem i64 %t16, %t18
  %t22 = udiv i64 %t16, %t18
  %t23 = urem i64 %t22, %t19
  %t24 = udiv i64 %t22, %t19
  %t25 = trunc i64 %t21 to i32
  %t26 = trunc i64 %t23 to i32
  %t27 = trunc i64 %t24 to i32
  br i1 %t11, label %t28, label %t29
t28:
  call void @group_rows(ptr %p0, ptr %words, ptr %frame, ptr %s0, i32 %t25, i32 %t26, i32 %t27)
  br label %t30
t29:
  call void @group_any(ptr %p0, ptr %words, ptr %frame, ptr %s0, i32 %t25, i32 %t26, i32 %t27)
  br label %t30
t30:
  %t31 = add nuw i64 %t16, 1
  store i64 %t31, ptr %t12
  br label %t13
t15:
  ret void
}

/* SPDX-License-Identifier: MIT OR Apache-2.0
 * Ping-pong by size, rate of 8-byte messages and reversed matching between 2 ranks: one source for every MPI library. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
int main(int argc,char**argv){MPI_Init(&argc,&argv);int r;MPI_Comm_rank(MPI_COMM_WORLD,&r);
 char*b=malloc(1<<22);memset(b,1,1<<22);
 int S[]={0,8,64,1024,8192,65536,1048576,4194304};
 for(int k=0;k<8;k++){int s=S[k],it=s<10000?200000:s<1000000?5000:300;for(int w=0;w<2;w++){double t=MPI_Wtime();int n=w?it:it/10;
  for(int i=0;i<n;i++){if(!r){MPI_Send(b,s,MPI_CHAR,1,0,MPI_COMM_WORLD);MPI_Recv(b,s,MPI_CHAR,1,0,MPI_COMM_WORLD,MPI_STATUS_IGNORE);}else{MPI_Recv(b,s,MPI_CHAR,0,0,MPI_COMM_WORLD,MPI_STATUS_IGNORE);MPI_Send(b,s,MPI_CHAR,0,0,MPI_COMM_WORLD);}}
  if(w&&!r)printf("%8d B  %9.3f us\n",s,(MPI_Wtime()-t)/it/2*1e6);}}
 MPI_Request q[64];int it=20000;MPI_Barrier(MPI_COMM_WORLD);double t=MPI_Wtime();
 for(int i=0;i<it;i++){for(int j=0;j<64;j++)if(!r)MPI_Isend(b,8,MPI_CHAR,1,0,MPI_COMM_WORLD,q+j);else MPI_Irecv(b+j*8,8,MPI_CHAR,0,0,MPI_COMM_WORLD,q+j);MPI_Waitall(64,q,MPI_STATUSES_IGNORE);
  if(!r)MPI_Recv(b,1,MPI_CHAR,1,1,MPI_COMM_WORLD,MPI_STATUS_IGNORE);else MPI_Send(b,1,MPI_CHAR,0,1,MPI_COMM_WORLD);}
 if(!r)printf("rate %.2f M/s\n",it*64/(MPI_Wtime()-t)/1e6);
 MPI_Barrier(MPI_COMM_WORLD);t=MPI_Wtime();int N=4000;MPI_Request*Q=malloc(N*sizeof*Q);
 if(!r){for(int i=0;i<N;i++)MPI_Isend(b,8,MPI_CHAR,1,i,MPI_COMM_WORLD,Q+i);MPI_Waitall(N,Q,MPI_STATUSES_IGNORE);MPI_Barrier(MPI_COMM_WORLD);}
 else{MPI_Barrier(MPI_COMM_WORLD);t=MPI_Wtime();for(int i=N-1;i>=0;i--)MPI_Recv(b,8,MPI_CHAR,0,i,MPI_COMM_WORLD,MPI_STATUS_IGNORE);printf("unexpected reverse %.1f ns\n",(MPI_Wtime()-t)/N*1e9);}
 MPI_Finalize();return 0;}

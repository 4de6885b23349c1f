import type { DaySummary, Outcome, Tried } from '@runledger/simulate/what-if/outcome';

export type ToWorker =
  | { readonly kind: 'read'; readonly file: File }
  | { readonly kind: 'play'; readonly tried: Tried };

export type FromWorker =
  | { readonly kind: 'day'; readonly day: DaySummary }
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  | { readonly kind: 'failed'; readonly why: string };

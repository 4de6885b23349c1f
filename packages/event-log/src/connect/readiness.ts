/** Whether a part works, for the check of its service. */
export type Readiness =
  | { readonly ok: true; /** What an operator should know nevertheless. */ readonly note?: string }
  | { readonly ok: false; readonly why: string };

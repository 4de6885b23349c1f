/** Whether a part works, for the check of its service. */
export type Readiness = { readonly ok: true } | { readonly ok: false; readonly why: string };

const MINUTE_MS = 60_000;

/** Twice as long as a copy is young: what a request refers to within half an hour is never erased. */
export const ERASED_AFTER_MS = 60 * MINUTE_MS;
export const SWEEP_EVERY_MS = 5 * MINUTE_MS;
/** How long a blob that nothing refers to may stay. */
export const UNREFERENCED_FOR_MS = ERASED_AFTER_MS + 3 * SWEEP_EVERY_MS;

import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';

/** A file in the folder for files on their way, which has no name yet. */
export type FetchedFile =
  | {
      readonly kind: 'fetched';
      readonly bytes: number;
      /** As who sent it names it, and its type. */
      readonly filename: string;
      readonly content_type: string;
    }
  | { readonly kind: 'refused'; readonly error: AttemptError }
  /** The run was cancelled or requeued meanwhile, or the executor stops. */
  | { readonly kind: 'stopped' };

/** `why` is a sentence, for people. */
export const notFetched = (why: string, retryable: boolean): FetchedFile => ({
  kind: 'refused',
  error: errorOf('input_unavailable', why, { retryable }),
});

/** Why a service stops; the first reason counts. */
export type StopReason =
  | { readonly kind: 'signal'; readonly signal: 'SIGTERM' | 'SIGINT' }
  | { readonly kind: 'parent_ended' }
  | { readonly kind: 'start_failed'; readonly error: unknown }
  | { readonly kind: 'fatal'; readonly error: unknown };

/** The reason of the `stopping` signal. Work that the signal aborts rejects with this error. */
export class ServiceStopping extends Error {
  override readonly name = 'ServiceStopping';
  readonly stop: StopReason;

  constructor(stop: StopReason) {
    super(`the service is stopping: ${describeStop(stop)}`);
    this.stop = stop;
  }
}

export const describeStop = (stop: StopReason): string => {
  switch (stop.kind) {
    case 'signal':
      return `${stop.signal} was received`;
    case 'parent_ended':
      return 'the parent process has ended';
    case 'start_failed':
      return 'it could not start';
    case 'fatal':
      return 'an unhandled error';
  }
};

/** Undefined if the signal is not aborted, or is not the `stopping` signal of a service. */
export const stopReason = (stopping: AbortSignal): StopReason | undefined =>
  stopping.reason instanceof ServiceStopping ? stopping.reason.stop : undefined;

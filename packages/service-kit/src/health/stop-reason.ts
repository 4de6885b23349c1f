/** Why a service stops; the first reason counts. */
export type StopReason =
  | { readonly kind: 'signal'; readonly signal: 'SIGTERM' | 'SIGINT' }
  | { readonly kind: 'parent_gone' }
  | { readonly kind: 'start_failed'; readonly error: unknown }
  | { readonly kind: 'fatal'; readonly error: unknown };

/** The reason of the `stopping` signal, so that work given up because of it rejects with an Error that says why. */
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
    case 'parent_gone':
      return 'the process that started it is gone';
    case 'start_failed':
      return 'it could not start';
    case 'fatal':
      return 'an error that nothing handled';
  }
};

/** Undefined while the signal is not aborted, and for a signal that is not a service's `stopping`. */
export const stopReason = (stopping: AbortSignal): StopReason | undefined =>
  stopping.reason instanceof ServiceStopping ? stopping.reason.stop : undefined;

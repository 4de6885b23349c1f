/** What is used of opossum 10, which ships no types of its own (`@types/opossum` describes version 8). */
declare module 'opossum' {
  import type { EventEmitter } from 'node:events';

  interface CircuitOptions {
    readonly timeout: number | false;
    readonly resetTimeout: number;
    readonly volumeThreshold: number;
    readonly errorThresholdPercentage: number;
    readonly rollingCountTimeout: number;
    readonly rollingCountBuckets?: number;
    readonly rollingPercentilesEnabled: boolean;
    readonly enableSnapshots: boolean;
    readonly rotateBucketController?: EventEmitter;
  }

  class CircuitBreaker<Args extends readonly unknown[], Result = unknown> {
    /** Whether opossum made the error: the circuit is open, or the call took too long. */
    static isOurError(error: Error): boolean;
    constructor(action: (...args: Args) => Promise<Result>, options: CircuitOptions);
    /** The very object that was given; `resetTimeout` is read whenever it opens. */
    readonly options: { resetTimeout: number };
    readonly opened: boolean;
    readonly stats: { readonly fires: number; readonly failures: number };
    fire(...args: Args): Promise<Result>;
    fallback(instead: (...argsAndError: [...Args, Error]) => Result | Promise<Result>): this;
    open(): void;
    close(): void;
    shutdown(): void;
    on(event: 'open' | 'halfOpen' | 'close', listener: () => void): this;
  }

  export = CircuitBreaker;
}

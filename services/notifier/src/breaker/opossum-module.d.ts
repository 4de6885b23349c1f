/** What is used of opossum 10, which ships no types of its own (`@types/opossum` describes version 8). */
declare module 'opossum' {
  import type { EventEmitter } from 'node:events';

  interface CircuitOptions {
    readonly timeout: number | false;
    readonly resetTimeout: number;
    readonly volumeThreshold: number;
    readonly errorThresholdPercentage: number;
    readonly rollingCountTimeout: number;
    readonly rollingCountBuckets: number;
    readonly rollingPercentilesEnabled: boolean;
    readonly enableSnapshots: boolean;
    readonly rotateBucketController: EventEmitter;
  }

  class CircuitBreaker<Told extends readonly unknown[]> {
    constructor(action: (...told: Told) => Promise<unknown>, options: CircuitOptions);
    /** The very object that was given; `resetTimeout` is read whenever it opens. */
    readonly options: { resetTimeout: number };
    readonly opened: boolean;
    readonly stats: { readonly fires: number; readonly failures: number };
    fire(...told: Told): Promise<unknown>;
    open(): void;
    close(): void;
    shutdown(): void;
    on(event: 'halfOpen', listener: () => void): this;
  }

  export = CircuitBreaker;
}

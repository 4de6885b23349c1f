/** What is used of opossum 10, which ships no types of its own (`@types/opossum` describes version 8). */
declare module 'opossum' {
  interface CircuitOptions {
    readonly timeout: number;
    readonly resetTimeout: number;
    readonly volumeThreshold: number;
    readonly errorThresholdPercentage: number;
    readonly rollingCountTimeout: number;
    readonly rollingPercentilesEnabled: boolean;
    readonly enableSnapshots: boolean;
  }

  class CircuitBreaker<Args extends readonly unknown[], Result = unknown> {
    /** Whether opossum made the error: the circuit is open, or the call took too long. */
    static isOurError(error: Error): boolean;
    constructor(action: (...args: Args) => Promise<Result>, options: CircuitOptions);
    fire(...args: Args): Promise<Result>;
    fallback(instead: (...argsAndError: [...Args, Error]) => Result | Promise<Result>): this;
    shutdown(): void;
    on(event: 'open' | 'close', listener: () => void): this;
  }

  export = CircuitBreaker;
}

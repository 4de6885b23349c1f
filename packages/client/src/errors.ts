import type { Problem, Run } from './operations.ts';

/** The base of all errors of this package. */
export class RunledgerError extends Error {
  override name = 'RunledgerError';
}

/** There was no response, or it ended early. The request may have reached the service. */
export class ConnectionFailed extends RunledgerError {
  override name = 'ConnectionFailed';
}

/** What is known about a refusal. */
export interface RefusalFacts {
  /** The HTTP status. */
  readonly status: number;
  /** Stable, for programs; null from a service that sends none. */
  readonly code: string | null;
  /** What happened and what to do, for people; for a 422 one line for each problem. */
  readonly detail: string;
  /** The log of the service has it; null when the response did not name it. */
  readonly requestId: string | null;
  /** Seconds after which the same request may succeed; null when the service does not say. */
  readonly retryAfter: number | null;
  /** The JSON of the answer, with all its members; undefined when it was none. */
  readonly body: unknown;
}

/** The service refused a request. */
export class ApiError extends RunledgerError implements RefusalFacts {
  override name = 'ApiError';
  readonly status: number;
  readonly code: string | null;
  readonly detail: string;
  readonly requestId: string | null;
  readonly retryAfter: number | null;
  readonly body: unknown;

  constructor(message: string, { status, code, detail, requestId, retryAfter, body }: RefusalFacts) {
    super(message);
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
    this.body = body;
  }
}

/** 422: the request does not fit its description. */
export class ValidationError extends ApiError {
  override name = 'ValidationError';
  /** Everything that is wrong, with its place. */
  readonly problems: readonly Problem[];

  constructor(message: string, facts: RefusalFacts, problems: readonly Problem[]) {
    super(message, facts);
    this.problems = problems;
  }
}

/** 404: the organisation of the key has no such record. */
export class NotFound extends ApiError {
  override name = 'NotFound';
}

/** 429: too many requests, or a quota is reached. */
export class RateLimited extends ApiError {
  override name = 'RateLimited';
}

/** 502 to 504, and 520 to 524 of Cloudflare: the service cannot do this now. */
export class Unavailable extends ApiError {
  override name = 'Unavailable';
}

/** The run ended otherwise than in success. */
export class RunFailed extends RunledgerError {
  override name = 'RunFailed';
  readonly run: Run;

  constructor(run: Run) {
    super(
      `Run ${run.id} ended as ${run.status}: ${run.error?.message ?? run.end_reason ?? 'no reason given'}`,
    );
    this.run = run;
  }
}

/** A notification that the service did not sign, or not within the tolerance. Answer it with 400. */
export class WebhookInvalid extends RunledgerError {
  override name = 'WebhookInvalid';
}

import { performance } from 'node:perf_hooks';
import type { DeliveryAttemptResult, DeliveryAttemptPhases } from '@runledger/contracts/events/webhook-event';

export interface Failure {
  readonly reason: DeliveryAttemptResult;
  /** For people: no secrets, no path or query of the URL, and no text that the receiver chose. */
  readonly message: string;
}

/** Thrown where the code that fails knows the reason best. */
export class SendFailure extends Error implements Failure {
  override readonly name = 'SendFailure';
  readonly reason: DeliveryAttemptResult;

  constructor(reason: DeliveryAttemptResult, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The reason of an error at this stage of an attempt. */
export const failureOf = (error: unknown, stage: Stage, receiver: string): Failure => {
  if (error instanceof SendFailure) return error;
  const code = codeOf(error);
  if (code === undefined || OUR_OWN.has(code)) return internalError(error, code);
  switch (stage) {
    case 'dns':
      return internalError(error, code);
    case 'proxy':
      return {
        reason: 'proxy_failed',
        message: `The egress proxy cannot be reached (${code}). Check its address in the settings, and that it runs.`,
      };
    case 'connect':
      return connectFailure(connectCodes(error, code), receiver);
    case 'tls':
      return tlsFailure(code, receiver);
    case 'wait':
    case 'body':
      return answerFailure(code, receiver);
  }
};

export const failureOfEnd = (ended: EndReason, stage: Stage, receiver: string, withinMs: number): Failure => {
  if (ended === 'interrupted') {
    return { reason: 'interrupted', message: `The attempt to reach ${receiver} was interrupted.` };
  }
  const time = `within ${withinMs / 1_000} s`;
  switch (stage) {
    case 'dns':
      return { reason: 'connect_timed_out', message: `The name of ${receiver} was not resolved ${time}.` };
    case 'proxy':
      return { reason: 'proxy_failed', message: `The egress proxy could not be connected to ${time}.` };
    case 'connect':
      return { reason: 'connect_timed_out', message: `${receiver} accepted no connection ${time}.` };
    case 'tls':
      return { reason: 'timed_out', message: `${receiver} did not finish the TLS handshake ${time}.` };
    case 'wait':
    case 'body':
      return { reason: 'timed_out', message: `${receiver} sent no status and headers ${time}.` };
  }
};

/** Limits of this process or machine. They are no receiver's fault. */
const OUR_OWN: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

const internalError = (error: unknown, code: string | undefined): Failure => ({
  reason: 'internal_error',
  message: `The service itself failed (${code ?? (error instanceof Error ? error.name : typeof error)}); its log may say more.`,
});

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && !(error instanceof TypeError || error instanceof RangeError) && 'code' in error
    ? typeof error.code === 'string'
      ? error.code
      : undefined
    : undefined;

/** With several addresses every one of them failed, each in its own way. */
const connectCodes = (error: unknown, code: string): readonly string[] =>
  error instanceof AggregateError ? error.errors.map((each) => codeOf(each) ?? code) : [code];

const connectFailure = (codes: readonly string[], receiver: string): Failure => {
  if (codes.includes('ECONNREFUSED')) {
    return {
      reason: 'connect_refused',
      message: `${receiver} refused the connection. Check that the receiver listens on this port.`,
    };
  }
  return codes.every((code) => code === 'ETIMEDOUT' || code === 'ERR_SOCKET_CONNECTION_TIMEOUT')
    ? { reason: 'connect_timed_out', message: `${receiver} accepted no connection in time.` }
    : {
        reason: 'connect_failed',
        message: `${receiver} cannot be reached (${[...new Set(codes)].join(', ')}).`,
      };
};

const TLS_FAULTS: ReadonlyMap<string, string> = new Map([
  ['CERT_HAS_EXPIRED', 'its certificate has expired'],
  ['CERT_NOT_YET_VALID', 'its certificate is not valid yet'],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', 'its certificate is signed by itself'],
  ['SELF_SIGNED_CERT_IN_CHAIN', 'its certificate comes from an authority that is not trusted'],
  [
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'its certificate comes from an unknown authority, or the chain lacks an intermediate one',
  ],
  [
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'its certificate comes from an unknown authority, or the chain lacks an intermediate one',
  ],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'its certificate is for other hosts'],
  ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'it offers no TLS 1.2 or newer'],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'it offers no TLS 1.2 or newer'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', 'it does not speak TLS on this port'],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'it does not speak TLS on this port'],
  ['ECONNRESET', 'it closed the connection during the handshake'],
]);

const tlsFailure = (code: string, receiver: string): Failure => ({
  reason: 'tls_failed',
  message: `No safe connection to ${receiver}: ${TLS_FAULTS.get(code) ?? 'the TLS handshake failed'} (${code}).`,
});

const answerFailure = (code: string, receiver: string): Failure => {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return { reason: 'malformed_answer', message: `${receiver} answered with too many or too long headers.` };
  }
  if (code.startsWith('HPE_')) {
    return {
      reason: 'malformed_answer',
      message: `${receiver} did not answer with valid HTTP/1.1 (${code}).`,
    };
  }
  // With TLS 1.3 the receiver asks for our certificate only now.
  if (code.startsWith('ERR_SSL_')) return tlsFailure(code, receiver);
  return code === 'ETIMEDOUT'
    ? { reason: 'timed_out', message: `The connection to ${receiver} was lost: it no longer responds.` }
    : { reason: 'reset', message: `${receiver} closed the connection before it answered (${code}).` };
};

/** Why this side ended an attempt. */
type EndReason = 'time_over' | 'interrupted';

/** One signal for the whole attempt. Disposing removes its timer and its listeners. */
interface TimeLimit extends Disposable {
  readonly signal: AbortSignal;
  readonly ended: EndReason | undefined;
}

export const limitTime = (withinMs: number, interruptions: readonly AbortSignal[]): TimeLimit => {
  const controller = new AbortController();
  let ended: EndReason | undefined;
  const end = (because: EndReason): void => {
    ended ??= because;
    controller.abort();
  };
  const interrupt = (): void => end('interrupted');
  const timer = setTimeout(() => end('time_over'), withinMs);
  for (const interruption of interruptions) {
    if (interruption.aborted) interrupt();
    else interruption.addEventListener('abort', interrupt);
  }
  return {
    signal: controller.signal,
    get ended() {
      return ended;
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      for (const interruption of interruptions) interruption.removeEventListener('abort', interrupt);
    },
  };
};

/** The stage of an attempt. Reaching the egress proxy is part of the phase `connect`, but fails for other reasons. */
type Stage = keyof DeliveryAttemptPhases | 'proxy';

/** One stage at a time. A stage that is entered again (a second connection) adds to its phase. */
export interface Stopwatch {
  readonly stage: Stage;
  enter(stage: Stage): void;
  /** Measured until now, including the current stage. */
  phases(): DeliveryAttemptPhases;
}

export const startStopwatch = (first: Stage): Stopwatch => {
  const measured: { -readonly [Phase in keyof DeliveryAttemptPhases]: DeliveryAttemptPhases[Phase] } = {
    dns: null,
    connect: null,
    tls: null,
    wait: null,
    body: null,
  };
  let stage = first;
  let since = performance.now();

  const count = (): void => {
    const now = performance.now();
    const phase = stage === 'proxy' ? 'connect' : stage;
    measured[phase] = (measured[phase] ?? 0) + (now - since) / 1_000;
    since = now;
  };

  return {
    get stage() {
      return stage;
    },
    enter: (next) => {
      count();
      stage = next;
    },
    phases: () => {
      count();
      return {
        dns: rounded(measured.dns),
        connect: rounded(measured.connect),
        tls: rounded(measured.tls),
        wait: rounded(measured.wait),
        body: rounded(measured.body),
      };
    },
  };
};

const rounded = (seconds: number | null): number | null =>
  seconds === null ? null : Math.round(seconds * 1_000) / 1_000;

import { context, trace, TraceFlags } from '@opentelemetry/api';
import {
  pino,
  stdSerializers,
  stdTimeFunctions,
  type DestinationStream,
  type Logger as PinoLogger,
} from 'pino';
import sonicBoom from 'sonic-boom';

export type Logger = PinoLogger;

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

interface LoggerOptions {
  readonly service: string;
  readonly level: LogLevel;
  /** Identifies this process among those of the service, for example an executor's id. */
  readonly instance?: string;
  readonly destination: DestinationStream;
}

/**
 * A logger of JSON lines: `{level, time, service, instance?, pid, ...fields, msg}`, time as ISO 8601 in UTC.
 * A line during a sampled span has its `trace_id` and `span_id`. Errors are logged as `err`. Work on one run logs through
 * `logger.child({ run_id })`.
 * Values of fields named like a secret (authorization, api_key, token, secret, password) and the user part of
 * URLs are replaced, at any depth. The caller must not log secrets under other names or in prose.
 */
export const createLogger = ({ service, level, instance, destination }: LoggerOptions): Logger => {
  const options = {
    level,
    base: { service, ...(instance === undefined ? {} : { instance }), pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: stdSerializers.err },
    mixin: spanFields,
    hooks: { streamWrite: hideSecretsInLine },
  };
  return pino(options, destination);
};

/** What is logged before the process exits is written, unless nobody reads it any more. */
export const standardOutput = (): DestinationStream => {
  // As `pino.destination`, whose version 4 of sonic-boom, when the reader is gone, keeps a process from exiting for ever.
  const output = new sonicBoom.SonicBoom({ fd: 1 });
  output.on('error', () => undefined);
  process.on('exit', () => {
    try {
      output.flushSync();
    } catch {
      // Nobody reads it.
    }
  });
  return output;
};

const spanFields = (): object => {
  const span = trace.getSpanContext(context.active());
  return span !== undefined && (span.traceFlags & TraceFlags.SAMPLED) !== 0
    ? { trace_id: span.traceId, span_id: span.spanId }
    : {};
};

const HIDDEN = '[hidden]';

/** A cheap test, so that only the few lines that may hold a secret are parsed. */
const MENTIONS_SECRET = /authorization|cookie|runledger[-_]?session|api[-_]?key|token|secret|password/i;

const URL_USER_INFO = /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/"'\\<>]*@/gi;
/** 16 characters or more: shorter words after "Bearer" are prose ("Bearer token missing"). */
const BEARER = /\b(Bearer\s+)[\w.~+/=-]{16,}/gi;

/** The signing secret of webhooks. */
const SIGNING_SECRET = /\bwhsec_[\w+/=-]{16,}/g;

/** A token of a run, which may stand in the query of a URL. */
const RUN_TOKEN = /\brlt_[\w.-]{16,}/g;

/** What makes the address of an output file valid. */
const URL_SIGNATURE = /([?&]signature=)[\w-]{16,}/g;

const isSecretField = (name: string): boolean => {
  const plain = name.toLowerCase().replaceAll(/[-_]/g, '');
  return (
    ['authorization', 'proxyauthorization', 'cookie', 'setcookie', 'runledgersession'].includes(plain) ||
    /(?:apikey|token|secret|password)$/.test(plain)
  );
};

/** The text without the user and password of URLs, bearer tokens, tokens of runs, signatures of URLs and signing secrets. */
export const hideSecretsInText = (text: string): string =>
  text
    .replaceAll(URL_USER_INFO, `$1${HIDDEN}@`)
    .replaceAll(BEARER, `$1${HIDDEN}`)
    .replaceAll(RUN_TOKEN, `rlt_${HIDDEN}`)
    .replaceAll(URL_SIGNATURE, `$1${HIDDEN}`)
    .replaceAll(SIGNING_SECRET, `whsec_${HIDDEN}`);

const hideSecretFields = (line: string): string =>
  JSON.stringify(JSON.parse(line), (name, value: unknown) => (isSecretField(name) ? HIDDEN : value));

/**
 * A JSON log line without secrets: fields that are named like a secret at any depth, and secrets inside texts. It works on the
 * line and not on the logged object, so that it covers messages, child fields and error causes too.
 */
const hideSecretsInLine = (line: string): string => {
  const text = hideSecretsInText(line);
  if (!MENTIONS_SECRET.test(text)) return text;
  try {
    return `${hideSecretFields(text)}\n`;
  } catch {
    // A lost line is better than a leaked secret, and logging must never crash the process.
    return `{"level":"warn","time":"${new Date().toISOString()}","msg":"a log line was dropped: it could not be searched for secrets"}\n`;
  }
};

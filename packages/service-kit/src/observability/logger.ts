import { context, trace, TraceFlags } from '@opentelemetry/api';
import { pino, stdSerializers, stdTimeFunctions } from 'pino';
import type { DestinationStream, Logger as PinoLogger } from 'pino';
import sonicBoom from 'sonic-boom';
import { hideSecretsInLine } from './redaction.ts';

export type Logger = PinoLogger;

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LoggerOptions {
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

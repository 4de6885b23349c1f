import { Type, type Static } from 'typebox';

const Seconds = Type.Union([Type.Number({ minimum: 0 }), Type.Null()]);

/**
 * How a delivery attempt ended. People read these words, and metrics are labelled with them. One table of the notifier
 * decides what follows from each.
 */
export const DELIVERY_ATTEMPT_RESULTS = [
  /** 2xx */
  'accepted',
  /** 410: the receiver wants no more of it. */
  'gone',
  /** 3xx: never followed. */
  'redirect',
  /** 4xx but 410 and 429. */
  'client_error',
  /** 429 */
  'throttled',
  /** 5xx */
  'server_error',
  /** The URL, or an address that its name stands for, is not allowed by the webhook policy. */
  'forbidden',
  /** The name does not exist, or has no address. */
  'name_not_found',
  /** The name's own servers do not answer. */
  'name_unanswered',
  'connect_refused',
  /** Unreachable, or reset before anything was sent. */
  'connect_failed',
  /** The attempt's time was over before there was a connection. */
  'connect_timed_out',
  /** A wrong certificate, or no TLS 1.2. */
  'tls_failed',
  /** The connection ended before the answer's headers were whole. */
  'reset',
  /** The response was not HTTP. */
  'malformed_answer',
  /** Connected, but no final status within the attempt's time. */
  'timed_out',
  /** The egress proxy cannot be reached, or refuses us. */
  'proxy_failed',
  /** No DNS server answers. */
  'no_dns',
  /** The notifier stopped, or lost its partition, while it sent. */
  'interrupted',
  /** The notifier itself is at fault: a secret that cannot be read, a bug. */
  'internal_error',
] as const;
export const DeliveryAttemptResult = Type.Enum([...DELIVERY_ATTEMPT_RESULTS]);
export type DeliveryAttemptResult = Static<typeof DeliveryAttemptResult>;

/** Seconds; null for a phase that was not reached, or not needed since a connection was used again. */
export const DeliveryAttemptPhases = Type.Object({
  dns: Seconds,
  connect: Seconds,
  tls: Seconds,
  /** From the request to the last of the answer's headers. */
  wait: Seconds,
  body: Seconds,
});
export type DeliveryAttemptPhases = Static<typeof DeliveryAttemptPhases>;

/** The longest part of a response's body that is kept. */
export const MAX_RESPONSE_EXCERPT_BYTES = 2_048;

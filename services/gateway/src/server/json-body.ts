import type { JsonValue } from '@runledger/contracts/json';
import { within } from '@runledger/resilience/within';
import type { Context } from 'koa';
import bodyParser from 'koa-bodyparser';
import { Refused } from '../http/refusal.ts';
import { readJson } from './read-json.ts';

/** The JSON of a request's body; undefined when it has none. Refuses in the order 415, 413, 422. */
export type JsonBody = (ctx: Context) => Promise<JsonValue | undefined>;

const READ_WITHIN_MS = 15_000;
const JSON_TYPES = ['application/json', 'application/*+json'];

/**
 * koa-bodyparser reads, inflates and limits; it is asked for the bytes, since its JSON takes 1e400, any charset, and makes
 * U+FFFD of what is no UTF-8.
 */
export const jsonBody = (maxBytes: number): JsonBody => {
  const options = {
    enableTypes: ['text'],
    extendTypes: { text: JSON_TYPES },
    textLimit: `${maxBytes}b`,
    // Its types do not know it: null asks co-body for bytes.
    encoding: null,
    onerror: (error: Error) => {
      throw new Refused(problemOf(error, maxBytes));
    },
  };
  const parse = bodyParser(options);
  return async (ctx) => {
    if (!hasBody(ctx)) return undefined;
    refuseOtherTypes(ctx);
    const reading = parse(ctx, async () => undefined);
    // A body that is too slow ends with its connection.
    await within(READ_WITHIN_MS, reading, () => {
      throw new Refused({ kind: 'too_slow', why: `The body was not sent within ${READ_WITHIN_MS / 1000} s` });
    });
    const { body } = ctx.request;
    if (!Buffer.isBuffer(body) || body.byteLength === 0) return undefined;
    const read = readJson(body);
    if (read.kind === 'json') return read.value;
    throw new Refused({ kind: 'invalid', problems: [read.problem] });
  };
};

const hasBody = ({ req }: Context): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

const refuseOtherTypes = (ctx: Context): void => {
  if (!ctx.request.is(JSON_TYPES)) {
    throw new Refused({ kind: 'unsupported_type', why: 'Send the body as application/json' });
  }
  const charset = CHARSET.exec(ctx.get('content-type'))?.[1]?.toLowerCase();
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') {
    throw new Refused({ kind: 'unsupported_type', why: 'Send the body in UTF-8: no other charset is read' });
  }
};

/** What raw-body, inflation and zlib say. */
const problemOf = (error: Error, maxBytes: number): Refused['refusal'] => {
  const status = 'status' in error ? error.status : undefined;
  if (status === 413) return { kind: 'too_large', why: `The body may have at most ${maxBytes} bytes` };
  if (status === 415) {
    return { kind: 'unsupported_type', why: 'Of content encodings gzip, deflate and br are read' };
  }
  return { kind: 'bad_request', why: 'The body could not be read to its end as the headers describe it' };
};

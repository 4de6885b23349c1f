import type { JsonValue } from '@runledger/contracts/json';
import { within } from '@runledger/resilience/within';
import type { Context } from 'koa';
import bodyParser from 'koa-bodyparser';
import { invalidRequest, Refused } from '../http/refusal.ts';
import { acceptBody } from '../http/request-body.ts';
import { readJson, type DuplicateMembers } from './read-json.ts';

/** The JSON of a request's body; undefined when it has none. Refuses in the order 415, 413, 422. */
export type JsonBody = (ctx: Context) => Promise<JsonValue | undefined>;

const READ_WITHIN_MS = 15_000;
const JSON_TYPES = ['application/json', 'application/*+json'];

/**
 * koa-bodyparser reads, inflates and limits the body. It returns bytes here: its own JSON parsing accepts 1e400 and any
 * charset, and turns invalid UTF-8 into U+FFFD.
 */
export const jsonBody = (maxBytes: number, duplicates: DuplicateMembers = 'last-wins'): JsonBody => {
  const options = {
    enableTypes: ['text'],
    extendTypes: { text: JSON_TYPES },
    textLimit: `${maxBytes}b`,
    // Not in its types: with null, co-body returns bytes.
    encoding: null,
    onerror: (error: Error) => {
      throw new Refused(problemOf(error, maxBytes));
    },
  };
  const parse = bodyParser(options);
  return async (ctx) => {
    if (!hasBody(ctx)) return undefined;
    refuseOtherTypes(ctx);
    if (Number(ctx.get('content-length') || 0) > maxBytes) throw new Refused(tooLarge(maxBytes));
    acceptBody(ctx);
    const reading = parse(ctx, async () => undefined);
    // The parser stops when the connection closes.
    await within(READ_WITHIN_MS, reading, () => {
      throw new Refused({
        code: 'request_too_slow',
        why: `The body was not sent within ${READ_WITHIN_MS / 1000} s`,
      });
    });
    const { body } = ctx.request;
    if (!Buffer.isBuffer(body) || body.byteLength === 0) return undefined;
    const read = readJson(body, duplicates);
    switch (read.kind) {
      case 'json':
        return read.value;
      case 'invalid':
        throw invalidRequest(read.problem);
      case 'duplicate':
        throw new Refused({ code: 'duplicate_member', why: whyTwice(read.path) });
    }
  };
};

const hasBody = ({ req }: Context): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

const refuseOtherTypes = (ctx: Context): void => {
  if (!ctx.request.is(JSON_TYPES)) {
    throw new Refused({ code: 'content_type_unsupported', why: 'Send the body as application/json' });
  }
  const charset = CHARSET.exec(ctx.get('content-type'))?.[1]?.toLowerCase();
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8') {
    throw new Refused({
      code: 'content_type_unsupported',
      why: 'Send the body in UTF-8: no other charset is supported',
    });
  }
};

const tooLarge = (maxBytes: number): Refused['refusal'] => ({
  code: 'body_too_large',
  why: `The body may have at most ${maxBytes} bytes`,
});

/** Names are the client's, and may be long. */
const MAX_PATH_LENGTH = 300;

const whyTwice = (path: readonly (string | number)[]): string =>
  `The body has the member ${['body', ...path].join('.').slice(0, MAX_PATH_LENGTH).toWellFormed()} twice. Send it once`;

/** The refusal for an error of raw-body, inflation or zlib. */
const problemOf = (error: Error, maxBytes: number): Refused['refusal'] => {
  const status = 'status' in error ? error.status : undefined;
  if (status === 413) return tooLarge(maxBytes);
  if (status === 415) {
    return {
      code: 'content_encoding_unsupported',
      why: 'The supported content encodings are gzip, deflate and br',
    };
  }
  return { code: 'body_incomplete', why: 'The body does not match the headers or ended early' };
};

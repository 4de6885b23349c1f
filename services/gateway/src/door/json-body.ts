import type { IncomingMessage } from 'node:http';
import { readJsonText, type JsonValue } from '@runledger/contracts/json';
import { within } from '@runledger/resilience/within';
import type { Context } from 'koa';
import bodyParser from 'koa-bodyparser';
import { isExactNumber } from '@runledger/contracts/exact-number';
import { invalidRequest, Refused, invalid, type Invalid } from './refusal.ts';

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

type ReadJson =
  | { readonly kind: 'json'; readonly value: JsonValue }
  | { readonly kind: 'invalid'; readonly problem: Invalid }
  /** An object has a member twice, which is at this path. */
  | { readonly kind: 'duplicate'; readonly path: readonly (string | number)[] };

/** What becomes of an object that has a member twice. */
type DuplicateMembers = 'last-wins' | 'refused';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * JSON as RFC 8259 defines it, in UTF-8, with its numbers as they were sent. Refuses what JavaScript accepts: invalid UTF-8,
 * numbers beyond the range of a double, halves of surrogate pairs.
 */
export const readJson = (bytes: Uint8Array, duplicates: DuplicateMembers = 'last-wins'): ReadJson => {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return refuse('the body is not valid UTF-8');
  }
  const read = readJsonText(text);
  if (read.kind === 'invalid') return refuse(read.why, read.position);
  const { value } = read;
  if (!isWellFormed(value)) return refuse('a text holds half of a surrogate pair');
  const path = duplicates === 'refused' ? duplicateMember(text) : undefined;
  return path ? { kind: 'duplicate', path } : { kind: 'json', value };
};

const refuse = (why: string, position?: number): ReadJson => ({
  kind: 'invalid',
  problem: invalid(
    position === undefined ? ['body'] : ['body', position],
    'json_invalid',
    `Send JSON in UTF-8: ${why}`,
  ),
});

/** Without recursion: a body may nest as deeply as its length allows. */
const isWellFormed = (value: JsonValue): boolean => {
  const open: JsonValue[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string' && !next.isWellFormed()) return false;
    if (typeof next !== 'object' || next === null || isExactNumber(next)) continue;
    if (Array.isArray(next)) {
      for (const item of next) open.push(item);
      continue;
    }
    for (const [name, member] of Object.entries(next)) {
      if (!name.isWellFormed()) return false;
      open.push(member);
    }
  }
  return true;
};

/** A name or another string, which is told by its colon, or what gives JSON its structure. */
const TOKEN = /("(?:[^"\\]+|\\.)*")(\s*:)?|[[\]{},]/g;

/** An object or array that is not closed yet. */
interface Level {
  /** Of an object. */
  readonly names: Set<string> | undefined;
  /** The name or the index of what comes now. */
  at: string | number;
}

/** The path of the first member whose object has one of that name already; undefined when there is none. The JSON must be valid. */
export const duplicateMember = (json: string): readonly (string | number)[] | undefined => {
  const levels: Level[] = [];
  for (const [token, text, colon] of json.matchAll(TOKEN)) {
    const level = levels.at(-1);
    if (text !== undefined) {
      if (colon === undefined || !level?.names) continue;
      const name = nameOf(text);
      level.at = name;
      if (level.names.has(name)) return levels.map(({ at }) => at);
      level.names.add(name);
    } else if (token === '{') levels.push({ names: new Set(), at: '' });
    else if (token === '[') levels.push({ names: undefined, at: 0 });
    else if (token !== ',') levels.pop();
    else if (typeof level?.at === 'number') level.at += 1;
  }
  return undefined;
};

const nameOf = (text: string): string => (text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1));

const IDLE_MS = 60_000;

const accepted = new WeakSet<IncomingMessage>();

/**
 * A client that sends `Expect: 100-continue` holds its body back until this. Call it when nothing but the body itself can be refused any
 * more.
 */
const acceptBody = ({ req, res }: Pick<Context, 'req' | 'res'>): void => {
  if (!isHeldBack(req)) return;
  accepted.add(req);
  res.writeContinue();
};

/** Whether the client waits until it may send its body. */
export const isHeldBack = (req: IncomingMessage): boolean =>
  !accepted.has(req) && /^100-continue$/i.test(req.headers.expect ?? '') && req.httpVersion === '1.1';

/** The body as it arrives. A client that sends nothing for a minute is disconnected. */
export async function* requestBody({ req, res }: Context): AsyncGenerator<Uint8Array> {
  acceptBody({ req, res });
  req.setTimeout(IDLE_MS, () => req.destroy(new Error(`the client sent nothing for ${IDLE_MS / 1000} s`)));
  try {
    for await (const piece of req.iterator({ destroyOnReturn: false })) {
      yield Buffer.isBuffer(piece) ? piece : Buffer.from(String(piece));
    }
  } catch {
    throw new Refused({
      code: 'body_incomplete',
      why: 'The upload was interrupted; nothing of it was stored',
    });
  } finally {
    req.setTimeout(0);
  }
}

/** All bytes of a body; undefined when they are more than `most`. */
export const bytesOf = async (
  body: AsyncIterable<Uint8Array>,
  most: number,
): Promise<Buffer<ArrayBuffer> | undefined> => {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.byteLength;
    if (bytes > most) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
};

/** The refusal of a file whose length is not known. */
export const lengthRequired = (): Refused =>
  new Refused({ code: 'length_required', why: 'Send the Content-Length of the file' });

import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { parseRunEvent } from '@runledger/contracts/events/run-event';
import type { RunKey } from '@runledger/contracts/events/subjects';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { NO_OUTPUTS } from '@runledger/contracts/fold/run';
import type { MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import { MAX_OF_RUN, MAX_OF_WEBHOOK } from '@runledger/event-log/read/read-whole-chain';
import { parseJson } from '@runledger/event-log/read/stored-message';
import { messageOf } from '@runledger/resilience/errors';
import { Type, type Static } from 'typebox';
import { ArchiveUnavailable } from './archive-objects.ts';
import { hashOfArchived, type ArchivedMessage } from './join.decide.ts';

const Line = Type.Object({
  sequence: Type.Integer({ minimum: 1 }),
  subject: Type.String(),
  time: Type.String(),
  fence: Type.Union([Type.String(), Type.Null()]),
  expected: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  /** What it says: a character for each byte, whatever the bytes are. */
  bytes: Type.String(),
  withheld: Type.Optional(Type.String()),
});
const isLine = compiledSchema(Line);

/** At the beginning of each object: what it is, in which version. The SHA-256 of what follows is the rest of that line. */
const MAGIC = 'runledger run 1 ';
const HEADER_BYTES = MAGIC.length + 44;
export const countOf = ({ life, webhook }: MessagesOfRun): number => life.length + webhook.length;
/** More are forged. */
export const MOST_MESSAGES = MAX_OF_RUN + MAX_OF_WEBHOOK;
/** Each of them as large as RUNS takes one, of bytes that JSON writes with six characters each. */
const MOST_BYTES = MOST_MESSAGES * 6 * 32 * 1024;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 9 } };

/** The object of a run. The same messages give the same bytes. */
export const packRun = async ({ life, webhook }: MessagesOfRun): Promise<Buffer> => {
  const lines = [...life, ...webhook].map((message) => `${JSON.stringify(lineOf(message))}\n`);
  const content = await compress(lines.join(''), LEVEL);
  return Buffer.concat([Buffer.from(`${MAGIC}${hash('sha256', content, 'base64url')}\n`), content]);
};

/** `place`: where the object is. @throws {ArchiveUnavailable} for one that is damaged, with what to do */
export const unpackRun = async (key: RunKey, bytes: Buffer, place: string): Promise<MessagesOfRun> => {
  try {
    return await unpacked(key, bytes);
  } catch (error) {
    const why = messageOf(error);
    throw new ArchiveUnavailable(
      `The archived run ${place} is damaged: ${why}. Restore the object from a backup, or remove it, which gives up what only it had.`,
      { cause: error },
    );
  }
};

/** Nothing in it is believed before its checksum. */
const unpacked = async ({ org_id, run_id }: RunKey, bytes: Buffer): Promise<MessagesOfRun> => {
  const content = bytes.subarray(HEADER_BYTES);
  const header = `${MAGIC}${hash('sha256', content, 'base64url')}\n`;
  if (bytes.subarray(0, HEADER_BYTES).toString('latin1') !== header)
    throw new Error('it has other bytes than were written');
  const text = (await decompress(content, { maxOutputLength: MOST_BYTES })).toString('utf8');
  const messages = text.split('\n').slice(0, -1).map(parsedLine);
  const under = (chain: string): StoredMessage[] =>
    messages.filter(({ subject }) => subject.startsWith(`runs.${org_id}.${run_id}.${chain}.`));
  const ofRun = { life: under('life'), webhook: under('webhook') };
  if (countOf(ofRun) < messages.length) throw new Error('it is that of another run');
  return ofRun;
};

const lineOf = (message: ArchivedMessage): Static<typeof Line> => {
  const { sequence, subject, time, fence, expectedSequence: expected, withheld, data, body } = message;
  const said = withheld === undefined ? Buffer.from(data ?? '') : Buffer.from(JSON.stringify(body));
  const line = { sequence, subject, time, fence, expected, bytes: said.toString('latin1') };
  return withheld === undefined ? line : { ...line, withheld };
};

const parsedLine = (text: string): ArchivedMessage => {
  const line = parseJson(Buffer.from(text));
  if (!isLine.Check(line)) throw new Error('a line of it is none');
  const { expected: expectedSequence, bytes, withheld, ...about } = line;
  const data = Buffer.from(bytes, 'latin1');
  const message = { ...about, expectedSequence, body: parseJson(data) };
  // What was taken out is not the message: nobody may take its hash for that of the stored one.
  return withheld === undefined ? { ...message, data } : { ...message, withheld };
};

/** The same run without what its outputs were. The hash of the fact that had them stays, so that the chain still proves itself. */
export const withoutOutputs = ({ life, webhook }: MessagesOfRun): MessagesOfRun => ({
  life: life.map((message) => {
    const parsed = parseRunEvent(message.body);
    if (parsed.kind !== 'event' || !('outputs' in parsed.event.data)) return message;
    const { outputs, outputs_blob } = parsed.event.data;
    if (!outputs?.length && outputs_blob === null) return message;
    const { data: _data, ...rest } = message;
    const body = { ...parsed.event, data: { ...parsed.event.data, ...NO_OUTPUTS } };
    const withheld = hashOfArchived(message);
    return { ...rest, body, ...(withheld !== undefined && { withheld }) };
  }),
  webhook,
});

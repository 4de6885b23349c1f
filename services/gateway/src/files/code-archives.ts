import { BlobDamaged } from '@runledger/blob-store/blob-store';
import {
  isKeptModel,
  MAX_CODE_BYTES,
  type CodeManifest,
  type StoredCode,
} from '@runledger/contracts/catalogue/code';
import type { OrgId } from '@runledger/contracts/ids';
import type { JsonValue } from '@runledger/contracts/json';
import { MAX_WORKFLOW_BYTES } from '@runledger/contracts/limits';
import type { Context } from 'koa';
import { isRecord } from '../door/compiled.ts';
import { invalidRequest, Refused, wrongValue, type Invalid } from '../door/refusal.ts';
import type { Kit } from '../kit.ts';
import type { CodeArchives, VersionWithCode } from '../records/catalogue/version-code.ts';
import type { Files } from './files.ts';
import type { Models } from './models.ts';
import { readParts, type StoredFile } from './file-records.ts';
import type { ByteSpan, OutputStore } from './output-store.ts';
import { sendFile } from './send-file.ts';

/** As large as the largest workflow, which is one blob too. */
const PIECE_BYTES = MAX_WORKFLOW_BYTES;
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** The archives of versions: uploaded as files, and copied to where nothing expires. */
export const codeArchives = (
  kit: Kit,
  files: Files,
  store: OutputStore,
  models: Pick<Models, 'use'>,
): CodeArchives => ({
  find: async (org_id, named) => {
    const file = await archiveOf(files, store, org_id, named);
    const { workflow } = named;
    const kept = await modelsIn(models, org_id, workflow);
    const server = isRecord(workflow) && isRecord(workflow['comfyui']) ? { server: 'comfyui' as const } : {};
    return {
      bytes: file.bytes,
      models: kept,
      keep: async () => ({ ...(await storeCode(kit, store, file)), ...server }),
    };
  },
  send: (ctx, version) => sendCode(kit, ctx, version),
});

/** @throws {Refused} when there is none, or it is not what the manifest says */
const archiveOf = async (
  files: Files,
  store: OutputStore,
  org_id: OrgId,
  { code, workflow }: { readonly code: string; readonly workflow: JsonValue },
): Promise<StoredFile> => {
  const file = (await files.find(org_id, code.toLowerCase()))?.value;
  const wrong = (why: string): Refused => invalidRequest(wrongValue(['body', 'code'], why));
  if (!file) throw wrong('the organisation has no file with this id, or it has expired: upload the archive');
  const { bytes, sha256, parts } = file;
  if (bytes > MAX_CODE_BYTES)
    throw wrong(
      `the archive has ${bytes} bytes, and code may have ${MAX_CODE_BYTES}: leave out what is no code, and name weights as models`,
    );
  if (isRecord(workflow) && workflow['code_sha256'] !== sha256)
    throw invalidRequest(
      wrongValue(['body', 'workflow', 'code_sha256'], `the archive of body.code has the SHA-256 ${sha256}`),
    );
  const begin: Uint8Array[] = [];
  if (bytes >= ZSTD.length)
    for await (const bytesRead of readParts(store, parts, { first: 0, last: ZSTD.length - 1 }))
      begin.push(bytesRead);
  if (!Buffer.concat(begin).equals(ZSTD)) throw wrong('the file is no tar that is compressed with zstd');
  return file;
};

/** Those of a manifest, which fits its schema, that the gateway keeps. @throws {Refused} when it has one of them not */
const modelsIn = async (
  models: Pick<Models, 'use'>,
  org_id: OrgId,
  workflow: JsonValue,
): Promise<string[]> => {
  const named = Object.entries((workflow as CodeManifest).models ?? {});
  const kept = new Set<string>();
  const problems: Invalid[] = [];
  for (const [path, model] of named) {
    if (!isKeptModel(model)) continue;
    const { sha256, bytes } = model;
    const at = ['body', 'workflow', 'models', path];
    const found = await models.use(org_id, sha256);
    if (!found)
      problems.push(
        wrongValue(
          at,
          `the organisation keeps no model with the SHA-256 ${sha256}: upload the file, and keep it with PUT /models/${sha256}`,
        ),
      );
    else if (found.model.bytes !== bytes)
      problems.push(wrongValue([...at, 'bytes'], `the model has ${found.model.bytes} bytes`));
    kept.add(sha256);
  }
  if (problems.length > 0) throw invalidRequest(...problems.slice(0, MOST_PROBLEMS));
  return [...kept];
};

const MOST_PROBLEMS = 10;

/** A call that was interrupted may be repeated: a piece that is there is stored once. */
const storeCode = async (
  { stores }: Kit,
  store: OutputStore,
  { org_id, parts, sha256, bytes }: StoredFile,
): Promise<StoredCode> => {
  const pieces: string[] = [];
  for (let first = 0; first < bytes; first += PIECE_BYTES) {
    const read: Uint8Array[] = [];
    const last = Math.min(first + PIECE_BYTES, bytes) - 1;
    for await (const part of readParts(store, parts, { first, last })) read.push(part);
    pieces.push((await stores.workflows.put(org_id, Buffer.concat(read))).sha256);
  }
  return { sha256, bytes, pieces };
};

/** Answers with the archive, or a part of it. @throws {Refused} when it is lost */
export const sendCode = async (
  { stores, logger }: Kit,
  ctx: Context,
  { org_id, created_at: stored_at, code }: VersionWithCode,
): Promise<void> => {
  const piece = async (sha256: string): Promise<Uint8Array> => {
    try {
      const found = await stores.workflows.get(org_id, sha256);
      if (found) return found;
    } catch (error) {
      if (!(error instanceof BlobDamaged)) throw error;
    }
    throw new Refused({
      code: 'code_lost',
      why: 'The code of this version is lost or damaged: deploy the folder again, which also repairs it',
    });
  };
  const read = async function* ({ first, last }: ByteSpan): AsyncGenerator<Uint8Array> {
    for (let at = Math.floor(first / PIECE_BYTES); at * PIECE_BYTES <= last; at += 1) {
      const bytes = await piece(code.pieces[at] ?? '');
      const begin = at * PIECE_BYTES;
      yield bytes.subarray(Math.max(first - begin, 0), last - begin + 1);
    }
  };
  // A refusal needs the head of the response, which is sent with the first bytes.
  await piece(code.pieces[0] ?? '');
  const { sha256, bytes } = code;
  const file = { filename: `${sha256}.tar.zst`, content_type: 'application/zstd', sha256, bytes, stored_at };
  await sendFile(ctx, { file, cacheControl: 'no-store', read }, logger);
};

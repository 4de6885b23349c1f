import {
  namedFiles,
  readFileValue,
  isFileInputType,
  type FileValue,
} from '@runledger/contracts/catalogue/workflow-inputs';
import type { OutputUrls } from '@runledger/webhooks/output-urls';
import type { OrgId } from '@runledger/contracts/ids';
import { isJsonObject, type JsonObject } from '@runledger/contracts/json';
import { MAX_INPUT_FILES } from '@runledger/contracts/limits';
import pLimit from 'p-limit';
import { readJsonBlob } from '@runledger/blob-store/json-blob';
import type { BlobStore } from '@runledger/blob-store/blob-store';
import { FILE_FORMS } from '../../records/catalogue/input-values.decide.ts';
import { readOwnAddress } from '../../files/file-routes.ts';
import type { Files } from '../../files/files.ts';
import type { OutputStore } from '../../files/output-store.ts';
import { wrongValue, type Invalid, type InvalidRequest } from '../../door/refusal.ts';
import type { CallbackRules } from './callback-rules.ts';
import type { InputSecrets } from './input-secrets.ts';
import type { NewRun, QueuedVersion, QueueDecision } from './queue-run.decide.ts';
import { apiUrl, type Kit } from '../../kit.ts';

/** What a new run is prepared with. */
interface Preparing {
  readonly files: Files;
  /** What the policy says of a URL. The executor asks it again when it fetches the file. */
  readonly callbacks: CallbackRules;
  readonly outputs: OutputStore;
  readonly outputUrls: OutputUrls;
  readonly secrets: InputSecrets;
}

/**
 * Keeps the files that a new run names until it has ended, and seals its secrets. A data URL, and the address of an output of this
 * installation, becomes the id of its file. Refused when the run cannot have a file.
 * @throws {Refused} for a data URL: too large, or over a quota @throws {LogUnavailable} @throws {OutputStoreUnavailable}
 */
export type PrepareRun = (
  org_id: OrgId,
  run: NewRun,
  version: QueuedVersion | undefined,
) => Promise<QueueDecision<InvalidRequest>>;

export const prepareRun =
  (kit: Kit, preparing: Preparing): PrepareRun =>
  async (org_id, run, version) => {
    const definitions = version?.inputs ?? [];
    const files = definitions.filter(({ type }) => isFileInputType(type));
    const inputs = files.length === 0 ? {} : await read(kit.stores.blobs, org_id, run.inputs);
    const names = files.map(({ name }) => name).filter((name) => Object.hasOwn(inputs, name));
    const withFiles = names.length === 0 ? run : await keepFiles(kit, preparing, org_id, run, inputs, names);
    if ('problems' in withFiles) return { kind: 'refused', why: withFiles };
    return { kind: 'queued', run: preparing.secrets.seal(org_id, withFiles, definitions) };
  };

/** None when the inputs of an earlier run are lost: the run is then refused for that. */
const read = async (blobs: BlobStore, org_id: OrgId, inputs: NewRun['inputs']): Promise<JsonObject> => {
  if (inputs.kind === 'inline') return inputs.value;
  const found = await readJsonBlob(blobs, org_id, inputs.ref.sha256);
  return found.kind === 'found' && isJsonObject(found.value) ? found.value : {};
};

/** Files of one run that are looked up or stored at a time. */
const AT_A_TIME = 8;

/** `names`: of the inputs that are files. */
const keepFiles = async (
  kit: Kit,
  preparing: Preparing,
  org_id: OrgId,
  { settings, inputs: given }: NewRun,
  inputs: JsonObject,
  names: readonly string[],
): Promise<NewRun | InvalidRequest> => {
  const count = names.reduce((sum, name) => sum + namedFiles(inputs[name]).length, 0);
  if (count > MAX_INPUT_FILES) return { kind: 'invalid', problems: [tooManyFiles(count)] };
  const limit = pLimit(AT_A_TIME);
  const kept = await Promise.all(
    names.map(async (name) => {
      const isList = Array.isArray(inputs[name]);
      const loc = ['body', 'inputs', name];
      const files = await limit.map(namedFiles(inputs[name]), (value, index) =>
        keepFile(kit, preparing, org_id, isList ? [...loc, index] : loc, value),
      );
      return { name, files, isList };
    }),
  );
  const problems = kept.flatMap(({ files }) => files.filter((file) => typeof file !== 'string'));
  if (problems.length > 0) return { kind: 'invalid', problems };
  const changed = kept.map(({ name, files, isList }) => {
    const values = files.filter((file) => typeof file === 'string');
    return [name, isList ? values : (values[0] ?? null)] as const;
  });
  return {
    settings: { ...settings, file_inputs: [...names] },
    // The inputs of an earlier run name files already, and stay as they are.
    inputs:
      given.kind === 'blob'
        ? given
        : { kind: 'inline', value: Object.fromEntries([...Object.entries(inputs), ...changed]) },
  };
};

const tooManyFiles = (count: number): Invalid =>
  wrongValue(
    ['body', 'inputs'],
    `these inputs name ${count} files, and those of a run name at most ${MAX_INPUT_FILES}: send an archive of them`,
  );

/** The value of the input with the file that is kept: its id, or its address elsewhere. */
const keepFile = async (
  kit: Kit,
  preparing: Preparing,
  org_id: OrgId,
  loc: (string | number)[],
  value: unknown,
): Promise<string | Invalid> => {
  const { files, callbacks, outputUrls } = preparing;
  const refused = (why: string): Invalid => wrongValue(loc, why);
  const use = async (id: string): Promise<string | Invalid> => {
    const used = await files.use(org_id, id);
    return used === 'kept' ? id : refused(NOT_USED[used]);
  };
  const file = readFileValue(value);
  switch (file?.kind) {
    case undefined:
      return refused(FILE_FORMS);
    case 'id':
      return use(file.id);
    case 'url': {
      const address = readOwnAddress(file.url, { origin: kit.publicUrl(), api: apiUrl(kit) });
      if (address?.kind === 'file') return use(address.id);
      if (address?.kind === 'output') {
        const state = outputUrls.check(address, address.query);
        if (state.kind === 'expired') return refused('this address has expired: read its run again');
        const id = state.kind === 'valid' ? await storeOutput(preparing, org_id, address) : undefined;
        return id ?? refused('this output file is gone: it was deleted or has expired');
      }
      return (await callbacks.destination(file.url, loc)) ?? file.url;
    }
    case 'data': {
      const bytes = bytesOf(file);
      if (!bytes)
        return refused('the data of this data URL is not valid base64, or not valid percent-encoding');
      const { content_type } = file;
      const description = { filename: '', content_type, bytes: bytes.byteLength, of_one_run: true } as const;
      return (await files.store(org_id, description, only(bytes))).value.id;
    }
  }
};

const NOT_USED = {
  unknown: 'the organisation has no file with this id: it was deleted or has expired. Upload it',
  expires_soon: 'this file expires before such a run must have ended: upload it again',
};

/** An output of a run becomes a file: it may be deleted before the new run begins. Its id; undefined when there is no such output. */
const storeOutput = async (
  { files, outputs }: Preparing,
  org_id: OrgId,
  { key, filename }: { readonly key: string; readonly filename: string },
): Promise<string | undefined> => {
  const output = await outputs.find(key);
  if (output?.filename !== filename) return undefined;
  const body = outputs.read(output, { first: 0, last: output.bytes - 1 });
  const { content_type, bytes } = output;
  const description = { filename, content_type, bytes, of_one_run: true } as const;
  return (await files.store(org_id, description, bytes === 0 ? only(new Uint8Array()) : body)).value.id;
};

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const bytesOf = ({ isBase64, text }: Extract<FileValue, { kind: 'data' }>): Buffer | undefined => {
  if (isBase64) {
    const plain = text.replaceAll('%2B', '+').replaceAll('%2F', '/').replaceAll('%3D', '=');
    return BASE64.test(plain) ? Buffer.from(plain, 'base64') : undefined;
  }
  try {
    return Buffer.from(decodeURIComponent(text), 'utf8');
  } catch {
    return undefined;
  }
};

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

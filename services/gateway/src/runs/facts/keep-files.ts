import {
  namedFiles,
  readFileValue,
  isFileInputType,
  type FileValue,
  type WorkflowInput,
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
import { invalid, type Invalid, type InvalidRequest } from '../../door/refusal.ts';
import type { CallbackRules } from './callback-rules.ts';
import { noFile } from './check-inputs.ts';
import type { NewRun, QueuedVersion, QueueDecision } from './queue-run.decide.ts';
import { apiUrl, type Kit } from '../../kit.ts';

/** Where files that inputs name may lie. */
interface FilePlaces {
  readonly files: Files;
  /** What the policy says of a URL. The executor asks it again when it fetches the file. */
  readonly addresses: CallbackRules;
  readonly outputs: OutputStore;
  readonly outputUrls: OutputUrls;
}

type KeptFiles =
  /** A data URL, and the address of an output of this installation, is the id of its file now. */
  { readonly kind: 'kept'; readonly inputs: JsonObject } | InvalidRequest;

/**
 * Keeps the files that a new run names, by the names of its inputs, until the run has ended.
 * @throws {Refused} for a data URL: too large, or over a quota @throws {LogUnavailable} @throws {OutputStoreUnavailable}
 */
type KeepFiles = (org_id: OrgId, inputs: JsonObject, names: readonly string[]) => Promise<KeptFiles>;

type KeptFile =
  | { readonly kind: 'kept'; readonly value: string }
  | { readonly kind: 'invalid'; readonly problem: Invalid };

/** Files of one run that are looked up or stored at a time. */
const AT_A_TIME = 8;

const keepFiles =
  (kit: Kit, places: FilePlaces): KeepFiles =>
  async (org_id, inputs, names) => {
    const named = names.map((name) => ({
      name,
      values: namedFiles(inputs[name]),
      isList: Array.isArray(inputs[name]),
    }));
    const count = named.reduce((sum, { values }) => sum + values.length, 0);
    if (count > MAX_INPUT_FILES) return { kind: 'invalid', problems: [tooManyFiles(count)] };
    const limit = pLimit(AT_A_TIME);
    const kept = await Promise.all(
      named.map(async ({ name, values, isList }) => {
        const loc = ['body', 'inputs', name];
        const files = await limit.map(values, (value, index) =>
          keepFile(kit, places, org_id, isList ? [...loc, index] : loc, value),
        );
        return { name, files, isList };
      }),
    );
    const problems = kept.flatMap(({ files }) =>
      files.flatMap((file) => (file.kind === 'invalid' ? [file.problem] : [])),
    );
    if (problems.length > 0) return { kind: 'invalid', problems };
    const changed = kept.map(({ name, files, isList }) => {
      const values = files.flatMap((file) => (file.kind === 'kept' ? [file.value] : []));
      return [name, isList ? values : (values[0] ?? null)] as const;
    });
    return { kind: 'kept', inputs: Object.fromEntries([...Object.entries(inputs), ...changed]) };
  };

const tooManyFiles = (count: number): Invalid => {
  const { type, msg } = noFile(
    `these inputs name ${count} files, and those of a run name at most ${MAX_INPUT_FILES}: send an archive of them`,
  );
  return invalid(['body', 'inputs'], type, msg);
};

const keepFile = async (
  kit: Kit,
  places: FilePlaces,
  org_id: OrgId,
  loc: (string | number)[],
  value: unknown,
): Promise<KeptFile> => {
  const { files, addresses } = places;
  const kept = (id: string): KeptFile => ({ kind: 'kept', value: id });
  const refused = (why: string): KeptFile => {
    const { type, msg } = noFile(why);
    return { kind: 'invalid', problem: invalid(loc, type, msg) };
  };
  const use = async (id: string): Promise<KeptFile> => {
    const used = await files.use(org_id, id);
    return used === 'kept' ? kept(id) : refused(NOT_USED[used]);
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
        const state = places.outputUrls.check(address, address.query);
        if (state.kind === 'expired') return refused('this address has expired: read its run again');
        const id = state.kind === 'valid' ? await storeOutput(places, org_id, address) : undefined;
        return id === undefined
          ? refused('this output file is gone: it was deleted or has expired')
          : kept(id);
      }
      const problem = await addresses.destination(file.url, loc);
      return problem ? { kind: 'invalid', problem } : kept(file.url);
    }
    case 'data': {
      const bytes = bytesOf(file);
      if (!bytes)
        return refused('the data of this data URL is not valid base64, or not valid percent-encoding');
      const { content_type } = file;
      const description = { filename: '', content_type, bytes: bytes.byteLength, of_one_run: true } as const;
      return kept((await files.store(org_id, description, only(bytes))).value.id);
    }
  }
};

const NOT_USED = {
  unknown: 'the organisation has no file with this id: it was deleted or has expired. Upload it',
  expires_soon: 'this file expires before such a run must have ended: upload it again',
};

/** An output of a run becomes a file: it may be deleted before the new run begins. Its id; undefined when there is no such output. */
const storeOutput = async (
  { files, outputs }: FilePlaces,
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

/** Keeps the files that a new run names; refused when it cannot have them. @throws as `KeepFiles` does */
export type KeepRunFiles = (
  org_id: OrgId,
  run: NewRun,
  version: Pick<QueuedVersion, 'inputs'> | undefined,
) => Promise<QueueDecision<InvalidRequest>>;

export const keepRunFiles = (kit: Kit, places: FilePlaces): KeepRunFiles => {
  const keep = keepFiles(kit, places);
  return async (org_id, run, version) => {
    const definitions = version?.inputs ?? [];
    const inputs =
      fileInputsOf(definitions).length === 0 ? undefined : await read(kit.stores.blobs, org_id, run.inputs);
    const names = inputs === undefined ? [] : fileInputsOf(definitions, inputs);
    if (inputs === undefined || names.length === 0) return { kind: 'queued', run };
    const kept = await keep(org_id, inputs, names);
    if (kept.kind === 'invalid') return { kind: 'refused', why: kept };
    // The inputs of an earlier run name files already, and stay as they are.
    const same = run.inputs.kind === 'blob' ? run.inputs : { kind: 'inline' as const, value: kept.inputs };
    return { kind: 'queued', run: withFiles(run, names, same) };
  };
};

/** Undefined when the inputs of an earlier run are lost: the run is then refused for that. */
const read = async (
  blobs: BlobStore,
  org_id: OrgId,
  inputs: NewRun['inputs'],
): Promise<JsonObject | undefined> => {
  if (inputs.kind === 'inline') return inputs.value;
  const found = await readJsonBlob(blobs, org_id, inputs.ref.sha256);
  return found.kind === 'found' && isJsonObject(found.value) ? found.value : undefined;
};

/** The names of the inputs that are files; with the inputs of a run, of those that it has. */
const fileInputsOf = (definitions: readonly WorkflowInput[], inputs?: JsonObject): string[] =>
  definitions.flatMap(({ name, type }) =>
    isFileInputType(type) && (inputs === undefined || Object.hasOwn(inputs, name)) ? [name] : [],
  );

/** The run with files that are kept. */
const withFiles = (run: NewRun, names: readonly string[], inputs: NewRun['inputs']): NewRun => {
  const { file_inputs: _before, ...settings } = run.settings;
  return {
    settings: names.length === 0 ? settings : { ...settings, file_inputs: [...names] },
    inputs,
  };
};

import type { WorkflowInput } from '@runledger/contracts/catalogue/workflow-inputs';
import type { Run } from '@runledger/contracts/fold/run';
import type { OrgId } from '@runledger/contracts/ids';
import { isJsonObject, type JsonObject, type JsonValue } from '@runledger/contracts/json';
import { UnreadableSecret, type SecretBox, type Signer } from '@runledger/webhooks/secret-box';
import { readJsonBlob } from '@runledger/blob-store/json-blob';
import type { BlobStore } from '@runledger/blob-store/blob-store';
import { readInlineOrBlob } from '@runledger/contracts/blobs';
import { isRunOf, type NewRun } from './queue-run.decide.ts';

/** The values of inputs that their workflow version calls secret. They are sealed before anything of a run is stored. */
export interface InputSecrets {
  /** The run with sealed values. Those of an earlier run that is run again are sealed already. */
  seal(org_id: OrgId, run: NewRun, definitions: readonly WorkflowInput[]): NewRun;
  /** The values by name. @throws {UnreadableSecret} */
  open(org_id: OrgId, names: readonly string[], inputs: JsonObject): Record<string, string>;
  /** What a run keeps of the request that its idempotency key belongs to: without the keys nobody can try secrets. */
  hashOf(org_id: OrgId, run: NewRun, request_sha256: string): string;
  /** Whether that request queued the run; false when its key is no longer there. */
  isRunOf(run: Run, request_sha256: string): boolean;
}

export const inputSecrets = (box: SecretBox, signer: Signer): InputSecrets => ({
  seal: (org_id, run, definitions) => {
    const { settings, inputs } = run;
    if (settings.secret_inputs || inputs.kind === 'blob') return run;
    const { value } = inputs;
    const names = definitions.flatMap(({ name, secret }) =>
      secret && Object.hasOwn(value, name) ? [name] : [],
    );
    if (names.length === 0) return run;
    const sealed = replaced(value, names, (name, text) => box.seal(textOf(text), contextOf(org_id, name)));
    return { settings: { ...settings, secret_inputs: names }, inputs: { kind: 'inline', value: sealed } };
  },
  open: (org_id, names, inputs) =>
    Object.fromEntries(names.map((name) => [name, box.open(textOf(inputs[name]), contextOf(org_id, name))])),
  hashOf: (org_id, { settings }, request_sha256) =>
    settings.secret_inputs
      ? Buffer.from(signer.sign(signed(org_id, request_sha256)), 'base64url').toString('hex')
      : request_sha256,
  isRunOf: (run, request_sha256) => {
    const { secret_inputs, idempotency } = run.request;
    if (!secret_inputs || !idempotency) return isRunOf(run, request_sha256);
    const signature = Buffer.from(idempotency.request_sha256, 'hex').toString('base64url');
    return signer.verifies(signed(run.org_id, request_sha256), signature);
  },
});

/** Inputs as they are shown: everybody sees that there is a secret, and nobody what it is. */
export const withoutSecrets = (inputs: JsonObject, names: readonly string[]): JsonObject =>
  replaced(inputs, names, () => null);

const replaced = (
  inputs: JsonObject,
  names: readonly string[],
  by: (name: string, value: JsonValue) => JsonValue,
): JsonObject => {
  const chosen = new Set(names);
  // Entries, because `__proto__` is an ordinary name.
  return Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [name, chosen.has(name) ? by(name, value) : value]),
  );
};

/** Its definition says that it is a text. An empty one is no sealed value. */
const textOf = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '');

const signed = (org_id: OrgId, request_sha256: string): string => `${org_id} ${request_sha256}`;

/** A sealed value opens for the input of its organisation only. */
const contextOf = (org_id: OrgId, name: string): string => `the input ${name} of ${org_id}`;

/**
 * The inputs for a rerun. Secrets that they leave out are those of the run, since nobody is shown them. One that is lost is left out.
 * @throws {LogUnavailable}
 */
export const withSecretsOf = async (
  { org_id, request }: Run,
  inputs: JsonObject,
  blobs: BlobStore,
  secrets: InputSecrets,
): Promise<JsonObject> => {
  const names = (request.secret_inputs ?? []).filter((name) => !Object.hasOwn(inputs, name));
  if (names.length === 0) return inputs;
  const given = readInlineOrBlob(request.inputs, request.inputs_blob);
  const found = given.kind === 'inline' ? given : await readJsonBlob(blobs, org_id, given.ref.sha256);
  if (!('value' in found) || !isJsonObject(found.value)) return inputs;
  try {
    return { ...inputs, ...secrets.open(org_id, names, found.value) };
  } catch (error) {
    if (error instanceof UnreadableSecret) return inputs;
    throw error;
  }
};

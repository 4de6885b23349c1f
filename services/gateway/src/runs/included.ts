import type { BlobStores } from '@runledger/blob-store/blob-stores';
import { readJsonBlob, type ReadJsonBlob } from '@runledger/blob-store/json-blob';
import { readInlineOrBlob } from '@runledger/contracts/blobs';
import type { Run } from '@runledger/contracts/fold/run';
import type { MissingMember } from '@runledger/contracts/http/runs/run-outputs';
import { isJsonObject, jsonBytes, type JsonValue } from '@runledger/contracts/json';
import type { Kit } from '../kit.ts';
import { withoutSecrets } from './facts/input-secrets.ts';
import type { IncludedMembers as Included } from './run-response.ts';

/** Which members a request includes. */
export interface Include {
  readonly inputs: boolean;
  readonly workflow_api: boolean;
}

export const includeOf = ({
  include = [],
}: {
  readonly include?: readonly (keyof Include)[] | undefined;
}): Include => ({
  inputs: include.includes('inputs'),
  workflow_api: include.includes('workflow_api'),
});

/** The included members of a run, and how many bytes they have as JSON. @throws {LogUnavailable} */
type ReadIncluded = (run: Run) => Promise<Included & { readonly bytes: number }>;

/** For the runs of one response, which share what they have in common: each blob is read once. */
export type OpenIncluded = (include: Include) => ReadIncluded;

interface Member {
  readonly value: JsonValue;
  readonly bytes: number;
  readonly missing: MissingMember['reason'] | undefined;
}

const NOT_INCLUDED: Member = { value: null, bytes: 0, missing: undefined };

export const openIncluded =
  ({ stores, logger }: Kit): OpenIncluded =>
  (include) => {
    const begun = new Map<string, Promise<ReadJsonBlob>>();
    const read = async (of: keyof BlobStores, { org_id, run_id }: Run, sha256: string): Promise<Member> => {
      const key = `${of} ${sha256}`;
      const reading = begun.get(key) ?? readJsonBlob(stores[of], org_id, sha256);
      begun.set(key, reading);
      const found = await reading;
      if (found.kind === 'found') return { ...found, missing: undefined };
      const why = found.kind === 'damaged' ? { err: found.error } : {};
      logger.warn({ run_id, of, sha256, ...why }, `a blob of a run is ${found.kind}`);
      return { ...NOT_INCLUDED, missing: found.kind };
    };
    const inputsOf = async (run: Run): Promise<Member> => {
      const inputs = readInlineOrBlob(run.request.inputs, run.request.inputs_blob);
      if (inputs.kind === 'inline')
        return { value: shown(run, inputs.value), bytes: jsonBytes(inputs.value), missing: undefined };
      const member = await read('blobs', run, inputs.ref.sha256);
      return { ...member, value: shown(run, member.value) };
    };
    return async (run) => {
      const [inputs, workflow] = await Promise.all([
        include.inputs ? inputsOf(run) : NOT_INCLUDED,
        include.workflow_api ? read('workflows', run, run.request.workflow_sha256) : NOT_INCLUDED,
      ]);
      return {
        workflow_inputs: inputs.value,
        workflow_api: workflow.value,
        missing: [...missing('workflow_inputs', inputs), ...missing('workflow_api', workflow)],
        bytes: inputs.bytes + workflow.bytes,
      };
    };
  };

const shown = ({ request: { secret_inputs } }: Run, inputs: JsonValue): JsonValue =>
  // The only inputs that are no object are those that are lost.
  secret_inputs && isJsonObject(inputs) ? withoutSecrets(inputs, secret_inputs) : inputs;

const missing = (member: MissingMember['member'], { missing: reason }: Member): MissingMember[] =>
  reason === undefined ? [] : [{ member, reason }];

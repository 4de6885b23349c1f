import type { JsonObject } from '@runledger/contracts/json';
import type { OrgId, RunId } from '@runledger/contracts/ids';
import type { Run } from '@runledger/contracts/fold/run';
import { canonicalJson } from './canonical-json.ts';
import type { QueueRequest } from './queue-run.ts';

/** What a run is asked for with; two that are the same are the same request. */
export type AskedFor =
  | { readonly kind: 'queue'; readonly request: QueueRequest }
  | { readonly kind: 'rerun'; readonly of: RunId; readonly inputs: JsonObject | undefined };

/** The text by which requests are compared; the same in every release, since runs keep its hash. */
export const requestText = (asked: AskedFor): string => {
  switch (asked.kind) {
    case 'queue': {
      const { deployment_id, inputs, webhook, webhook_intermediate_status, gpu } = asked.request;
      const request = { deployment_id, inputs, webhook, webhook_intermediate_status, gpu };
      return canonicalJson({ kind: 'queue', ...request });
    }
    case 'rerun':
      return canonicalJson({ kind: 'rerun', rerun_of: asked.of, inputs: asked.inputs ?? null });
  }
};

/** The text of which the id of a run is made: an organisation's id has no line break, so that no two share one. */
export const identityText = (org_id: OrgId, key: string): string => `run\n${org_id}\n${key}`;

/** Whether the run was queued by that request. One whose id is a random one was queued by no request with a key. */
export const isRunOf = ({ request }: Run, request_sha256: string): boolean =>
  request.idempotency?.request_sha256 === request_sha256;

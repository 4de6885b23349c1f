import { newUuid } from '@runledger/contracts/ids';
import type { OrgId, RunId } from '@runledger/contracts/ids';
import { append } from '@runledger/event-log/append';
import type { EventLog } from '@runledger/event-log/event-log';
import type { Logger } from '@runledger/event-log/logger';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { Envelope } from '../domain/envelope.ts';
import { queueRun, type QueueRequest } from '../domain/queue-run.ts';
import type { LogRoom } from './log-room.ts';
import type { VersionHashes } from './version-hashes.ts';

type Acceptance =
  /** The broker has acknowledged it. */
  | { readonly kind: 'accepted'; readonly run_id: RunId }
  | { readonly kind: 'no_deployment' }
  | { readonly kind: 'log_nearly_full' };

interface RunToAccept {
  /** Made by the caller, so that it can be made from an idempotency key. */
  readonly run_id: RunId;
  readonly org_id: OrgId;
  readonly user_id: string;
  readonly request: QueueRequest;
  readonly correlation_id: string;
  readonly traceparent: string | null;
}

export interface AcceptRunOptions {
  readonly log: EventLog;
  readonly catalogue: Catalogue;
  readonly versions: VersionHashes;
  readonly room: LogRoom;
  readonly writer: Envelope['writer'];
  readonly now: () => Date;
  readonly logger: Logger;
}

/** @throws {LogUnavailable} @throws {EventTooLarge} */
export type AcceptRun = (given: RunToAccept) => Promise<Acceptance>;

export const acceptRun =
  ({ log, catalogue, versions, room, writer, now, logger }: AcceptRunOptions): AcceptRun =>
  async ({ run_id, org_id, user_id, request, correlation_id, traceparent }) => {
    const deployment = await catalogue.getDeployment(org_id, request.deployment_id);
    const [machine, versionSha256] = deployment
      ? await Promise.all([
          catalogue.getMachine(org_id, deployment.machine_id),
          versions(org_id, deployment.workflow_version_id),
        ])
      : [undefined, undefined];
    const envelope = {
      event_id: newUuid(),
      run_id,
      org_id,
      time: now().toISOString(),
      writer,
      correlation_id,
      traceparent,
    };
    const decision = queueRun(request, { deployment, machine, versionSha256 }, { user_id }, envelope);
    if (decision.kind === 'no_deployment') {
      if (decision.missing === 'machine' || decision.missing === 'workflow version') {
        const { deployment_id } = request;
        logger.warn({ org_id, deployment_id, missing: decision.missing }, 'a deployment cannot be queued');
      }
      return { kind: 'no_deployment' };
    }
    if (!(await room.hasRoom())) return { kind: 'log_nearly_full' };
    const appended = await append(log, decision.event, 0);
    if (appended.kind === 'conflict') {
      throw new Error(
        `The new run ${run_id} is in the log already, at ${appended.head}: an id was given twice.`,
      );
    }
    return { kind: 'accepted', run_id };
  };

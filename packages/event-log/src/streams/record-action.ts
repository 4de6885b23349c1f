import { AUDIT_ACTIONS } from '@runledger/contracts/audit-actions';
import type { AuditDetails, AuditOutcome, AuditRecord, AuditTarget } from '@runledger/contracts/audit-record';
import { newUuid } from '@runledger/contracts/ids';
import { messageOf } from '@runledger/resilience/errors';
import type { EventLog } from '../connect/event-log.ts';
import { storeAuditRecord } from './audit-records.ts';

/** What somebody is about to do. */
export type AuditedAction = Pick<
  AuditRecord,
  'action' | 'org_id' | 'actor' | 'target' | 'request_id' | 'details'
>;

/** What is known of an action once it is done. */
export interface Completion {
  readonly target?: AuditTarget;
  readonly details?: AuditDetails;
}

/** The action was not carried out, because its record could not be stored. */
export class AuditNotStored extends Error {
  override readonly name = 'AuditNotStored';
  readonly code = 'audit_not_stored';
}

export interface RecordActionOptions {
  readonly log: EventLog;
  /** Whether an error says that nothing was done. */
  readonly isRefusal?: (error: unknown) => boolean;
  /** A record is missing, or its outcome is. */
  readonly onLost?: () => void;
}

/** Carries an action out between two records of it. @throws {AuditNotStored} @throws what `work` throws */
export type RecordAction = <Result>(
  what: AuditedAction,
  work: () => Promise<Result>,
  completionOf?: (result: Result) => Completion,
) => Promise<Result>;

/**
 * Records actions. The first record is stored before the action begins, so that a process that is killed at any moment leaves no action
 * without a record. If it cannot be stored, `AUDIT_ACTIONS` says whether the action is refused, or done all the same; that is
 * logged as an error with the record.
 */
export const actionRecorder = ({
  log,
  isRefusal = () => false,
  onLost = () => undefined,
}: RecordActionOptions): RecordAction => {
  const lost = (error: unknown, record: AuditRecord): void => {
    onLost();
    log.logger.error({ err: error, audit: record }, 'an audit record could not be stored');
  };
  return async (what, work, completionOf = () => ({})) => {
    const requested: AuditRecord = { version: 1, id: newUuid(), stage: 'requested', ...what, outcome: null };
    try {
      await storeAuditRecord(log, requested);
    } catch (error) {
      lost(error, requested);
      if (AUDIT_ACTIONS[requested.action].withoutRecord === 'refused') throw notStored(requested, error);
    }
    const complete = async (outcome: AuditOutcome, { target, details }: Completion): Promise<void> => {
      const completed: AuditRecord = {
        ...requested,
        stage: 'completed',
        outcome,
        target: target ?? what.target,
        ...(details === undefined ? {} : { details: { ...what.details, ...details } }),
      };
      // The action cannot be undone, and its first record is there.
      await storeAuditRecord(log, completed).catch((error: unknown) => lost(error, completed));
    };
    let result;
    try {
      result = await work();
    } catch (error) {
      await complete(isRefusal(error) ? 'refused' : 'unknown', {});
      throw error;
    }
    await complete('done', completionOf(result));
    return result;
  };
};

/** As `RecordAction`, for what somebody does with the operator's credentials of the broker. */
export type RecordAsOperator = <Result>(
  what: Omit<AuditedAction, 'actor' | 'request_id'>,
  work: () => Promise<Result>,
  completionOf?: (result: Result) => Completion,
) => Promise<Result>;

export const operatorRecorder = (log: EventLog, onLost: () => void): RecordAsOperator => {
  const record = actionRecorder({ log, onLost });
  return (what, work, completionOf) =>
    record({ ...what, actor: { kind: 'operator' }, request_id: null }, work, completionOf);
};

const notStored = ({ action }: AuditRecord, cause: unknown): AuditNotStored =>
  cause instanceof AuditNotStored
    ? cause
    : new AuditNotStored(
        `The audit record of ${action} could not be stored, so nothing was done: ${messageOf(cause)}`,
        { cause },
      );

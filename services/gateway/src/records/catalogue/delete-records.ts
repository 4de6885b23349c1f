import type { NumberedVersion } from '@runledger/contracts/catalogue/records';
import { orgId, type OrgId } from '@runledger/contracts/ids';
import type { Conflict } from '../../door/refusal.ts';
import type { UsedRecord } from '../../views/stored-run.decide.ts';
import { ofCompleteViews, type FreshViews } from '../../views/fresh-views.ts';
import { ViewsUnavailable, type RunViews } from '../../views/run-views.ts';
import {
  hasVersions,
  isNewestVersion,
  undeletable,
  usedByRun,
  blockedByDeployments,
  type Deletable,
  type DeploymentPart,
} from './deletion.decide.ts';
import type { Catalogue } from './catalogue.ts';
import type { RefuseRemoval, RemovedRecord } from './records.ts';

type Deletion = Promise<RemovedRecord<Conflict>>;

/**
 * Deletes records of the catalogue by one rule: an archived record that no other record and no live run refers to. Runs that have
 * ended keep showing its id. @throws {LogUnavailable} @throws {ViewsUnavailable}
 */
export interface DeleteRecords {
  machine(org: OrgId, id: string): Deletion;
  deployment(org: OrgId, id: string): Deletion;
  version(version: NumberedVersion): Deletion;
  /** With its newest version, whose number nothing follows. */
  workflow(org: OrgId, id: string): Deletion;
}

export const deleteRecords = (
  views: RunViews,
  fresh: FreshViews,
  records: Catalogue,
  /** In milliseconds since 1970. */
  brokerNow: () => Promise<number>,
): DeleteRecords => {
  const { machines, workflows, versions, deployments } = records;
  const byDeployment = async (
    org: string,
    used: DeploymentPart,
    id: string,
  ): Promise<Conflict | undefined> => {
    const found = await deployments.find(org, (one) => one[used] === id);
    return found && blockedByDeployments(found.newest, found.others, used, 'Delete');
  };
  const byRun = async (org: OrgId, record: UsedRecord): Promise<Conflict | undefined> => {
    const found = await ofCompleteViews(views, fresh, orgId(org), async () => ({
      run_id: await views.findLiveRun(org, record),
    }));
    if (!found) throw new ViewsUnavailable('the views lack facts of the log, so a run may be missing');
    return found.run_id && usedByRun(record.kind, found.run_id);
  };
  const ofVersion = async (org: OrgId, id: string): Promise<Conflict | undefined> =>
    (await byDeployment(org, 'workflow_version_id', id)) ?? byRun(org, { kind: 'workflow_version', id });
  /** `others`: why it cannot be deleted by what refers to it. */
  const refuse =
    <Stored extends { readonly archived?: boolean }>(
      what: Deletable['what'],
      others: (record: Stored) => Promise<Conflict | undefined>,
    ): RefuseRemoval<Stored, Conflict> =>
    async ({ value, changedAt }) =>
      undeletable({ what, archived: value.archived ?? false, changedAt, now: new Date(await brokerNow()) }) ??
      (await others(value));
  return {
    machine: (org, id) => {
      const used = async () =>
        (await byDeployment(org, 'machine_id', id)) ?? byRun(org, { kind: 'machine', id });
      return machines.remove(org, id, refuse('machine', used));
    },
    deployment: (org, id) => {
      const used = () => byRun(org, { kind: 'deployment', id });
      return deployments.remove(org, id, refuse('deployment', used));
    },
    version: (version) => {
      const { org_id, workflow_id, id, number } = version;
      const used = async () => {
        const [newest] = await versions.ofWorkflow(org_id, workflow_id);
        return newest?.number === number ? isNewestVersion(number) : ofVersion(orgId(org_id), id);
      };
      return versions.remove(version, refuse('workflow version', used));
    },
    workflow: (org, id) => {
      const used = async () => {
        const [newest, ...others] = await versions.ofWorkflow(org, id);
        if (others.length > 0) return hasVersions(others.map(({ number }) => number).slice(0, MAX_NAMED));
        const blocked = await byDeployment(org, 'workflow_id', id);
        if (blocked !== undefined || !newest) return blocked;
        const version = { org_id: org, workflow_id: id, number: newest.number };
        const removed = await versions.remove(version, () => ofVersion(org, newest.id));
        return removed.kind === 'refused' ? removed.why : undefined;
      };
      return workflows.remove(org, id, refuse('workflow', used));
    },
  };
};

const MAX_NAMED = 10;

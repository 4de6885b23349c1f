import type { Deployment, Machine, NumberedVersion, Workflow } from '@runledger/contracts/catalogue/records';
import { orgId, type OrgId } from '@runledger/contracts/ids';
import type { Conflict } from '../../door/refusal.ts';
import type { UsedRecord } from '../../views/run-references.decide.ts';
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
import type { CatalogueRecords } from './catalogue.ts';
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

type Archivable = Pick<Machine | Workflow | Deployment | NumberedVersion, 'id' | 'archived'>;

export const deleteRecords = (
  views: RunViews,
  fresh: FreshViews,
  records: CatalogueRecords,
  /** In milliseconds since 1970. */
  brokerNow: () => Promise<number>,
): DeleteRecords => {
  const { machines, workflows, versions, deployments } = records;
  const inUse = openInUse(views, fresh, records);
  const refuse =
    <Stored extends Archivable>(
      what: Deletable['what'],
      others: (record: Stored) => Promise<Conflict | undefined>,
    ): RefuseRemoval<Stored, Conflict> =>
    async ({ value, changedAt }) =>
      undeletable({ what, archived: value.archived ?? false, changedAt, now: new Date(await brokerNow()) }) ??
      (await others(value));
  return {
    machine: (org, id) =>
      machines.remove(
        org,
        id,
        refuse(
          'machine',
          async () =>
            (await inUse.byDeployment(org, 'machine_id', id)) ?? inUse.byRun(org, { kind: 'machine', id }),
        ),
      ),
    deployment: (org, id) =>
      deployments.remove(
        org,
        id,
        refuse('deployment', () => inUse.byRun(org, { kind: 'deployment', id })),
      ),
    version: (version) =>
      versions.remove(
        version,
        refuse('workflow version', async ({ org_id, workflow_id, number }: NumberedVersion) => {
          const [newest] = await versions.ofWorkflow(org_id, workflow_id);
          return newest?.number === number ? isNewestVersion(number) : inUse.ofVersion(version);
        }),
      ),
    workflow: (org, id) =>
      workflows.remove(
        org,
        id,
        refuse('workflow', async () => {
          const [newest, ...others] = await versions.ofWorkflow(org, id);
          if (others.length > 0) return hasVersions(others.map(({ number }) => number).slice(0, MAX_NAMED));
          const used = await inUse.byDeployment(org, 'workflow_id', id);
          if (used !== undefined || !newest) return used;
          const version = { org_id: org, workflow_id: id, number: newest.number, id: newest.version_id };
          const removed = await versions.remove(version, () => inUse.ofVersion(version));
          return removed.kind === 'refused' ? removed.why : undefined;
        }),
      ),
  };
};

const MAX_NAMED = 10;

interface InUse {
  byDeployment(org: string, used: DeploymentPart, id: string): Promise<Conflict | undefined>;
  byRun(org: OrgId, record: UsedRecord): Promise<Conflict | undefined>;
  ofVersion(version: { readonly org_id: string; readonly id: string }): Promise<Conflict | undefined>;
}

const openInUse = (views: RunViews, fresh: FreshViews, { deployments }: CatalogueRecords): InUse => {
  const byDeployment: InUse['byDeployment'] = async (org, used, id) => {
    const found = await deployments.find(org, (one) => one[used] === id);
    return found && blockedByDeployments(found.newest, found.others, used, 'Delete');
  };
  const byRun: InUse['byRun'] = async (org, record) => {
    const found = await ofCompleteViews(views, fresh, async () => ({
      run_id: await views.findLiveRun(org, record),
    }));
    if (!found) throw new ViewsUnavailable('the views lack facts of the log, so a run may be missing');
    return found.run_id && usedByRun(record.kind, found.run_id);
  };
  return {
    byDeployment,
    byRun,
    ofVersion: async ({ org_id, id }) =>
      (await byDeployment(org_id, 'workflow_version_id', id)) ??
      byRun(orgId(org_id), { kind: 'workflow_version', id }),
  };
};

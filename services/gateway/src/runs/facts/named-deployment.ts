import type { Deployment, Machine, NumberedVersion } from '@runledger/contracts/catalogue/records';
import { DeploymentUuid } from '@runledger/contracts/http/fields';
import type { JsonValue } from '@runledger/contracts/json';
import type { OrgId } from '@runledger/contracts/ids';
import { isRecord, own } from '../../door/compiled.ts';
import {
  invalid,
  invalidRequest,
  wrongValue,
  type Invalid,
  type InvalidRequest,
} from '../../door/refusal.ts';
import { MISSING, wrongType } from '../../door/words.decide.ts';
import type { Catalogue } from '../../records/catalogue/catalogue.ts';
import {
  filteredDeployment,
  requestedDeployment,
  severalHaveName,
} from '../../records/catalogue/deployment-name.decide.ts';
import { whyApart, wrongVersion } from '../../records/catalogue/deployment-rules.decide.ts';
import type { DeploymentChoice } from './queue-run.decide.ts';

/** As a schedule keeps it. */
export type StoredChoice = Extract<DeploymentChoice, { readonly deployment_id: string }>;

/** A deployment by its id or its name, in a request. Null counts as left out. */
interface NamedByClient {
  readonly deployment_id?: string | null | undefined;
  readonly deployment?: string | null | undefined;
}

/** Null counts as left out. */
export const isGiven = (body: JsonValue | undefined, member: string): boolean =>
  (own(body, member) ?? null) !== null;

/** What is wrong with how a body names its deployment. A change of a record needs none. */
export const choiceProblems = (body: JsonValue | undefined, isRequired: boolean): Invalid[] => {
  if (!isRecord(body)) return [];
  const [hasId, hasName] = [isGiven(body, 'deployment_id'), isGiven(body, 'deployment')];
  if (hasId && hasName) return [twoDeployments(['body', 'deployment'])];
  if (!isRequired || hasId || hasName) return [];
  // A null alone is no UUID, as before a name could stand there.
  const { type, msg } = Object.hasOwn(body, 'deployment_id')
    ? wrongType({ ...DeploymentUuid }, null)
    : MISSING;
  return [invalid(['body', 'deployment_id'], type, msg)];
};

const twoDeployments = (loc: Invalid['loc']): Invalid =>
  wrongValue(loc, 'the deployment is named by deployment_id already. Send one of the two');

/** Undefined when a change names none. The two members are checked before. UUIDs are accepted in either case. */
export const choiceIn = ({ deployment_id, deployment }: NamedByClient): DeploymentChoice | undefined => {
  if (typeof deployment_id === 'string') return { deployment_id: deployment_id.toLowerCase() };
  return typeof deployment === 'string' ? { deployment } : undefined;
};

/** That of a schedule, whose record may have more members. */
export const storedChoice = ({
  deployment_id,
  workflow_version_id: version,
}: StoredChoice): StoredChoice => ({
  deployment_id,
  ...(version !== undefined && { workflow_version_id: version }),
});

/** The deployment of a request that queues a run. */
interface ChosenDeployment {
  /** With the version that the run gets; undefined when the organisation does not have it. */
  readonly deployment?: Deployment | undefined;
  /** Whether that version was chosen by the request, whatever the deployment has. */
  readonly hasOwnVersion?: true;
  /** Why the request cannot be decided: there is no such version, or it cannot be told what the name means. */
  readonly refused?: 'no_version' | InvalidRequest;
}

/** @throws {LogUnavailable} */
export const chosenDeployment = async (
  { deployments, versions, machines }: Pick<Catalogue, 'deployments' | 'versions' | 'machines'>,
  org_id: OrgId,
  choice: DeploymentChoice,
): Promise<ChosenDeployment> => {
  const withVersion = async (deployment: Deployment, id: string | undefined): Promise<ChosenDeployment> => {
    const [version, machine] = await Promise.all([
      id === undefined ? undefined : versions.get(org_id, id),
      machines.get(org_id, deployment.machine_id),
    ]);
    return chosenVersion(deployment, version, machine);
  };
  if ('deployment_id' in choice) {
    const deployment = await deployments.get(org_id, choice.deployment_id);
    const { workflow_version_id: id } = choice;
    return deployment === undefined || deployment.archived || id === undefined
      ? { deployment }
      : withVersion(deployment, id);
  }
  const named = requestedDeployment(await deployments.all(org_id), choice.deployment);
  switch (named.kind) {
    case 'none':
      return {};
    case 'several':
      return { refused: wrongName(severalHaveName(named.deployments)) };
    case 'archived':
      return { deployment: named.deployments[0] };
    case 'found': {
      const { deployment, number } = named;
      if (number === undefined) return { deployment };
      const all = await versions.ofWorkflow(org_id, deployment.workflow_id);
      return withVersion(deployment, all.find((version) => version.number === number)?.id);
    }
  }
};

/** The deployment with another version of its workflow. Runs in progress keep a version from being deleted, and so does the minute after it was archived. */
const chosenVersion = (
  deployment: Deployment,
  version: NumberedVersion | undefined,
  machine: Machine | undefined,
): ChosenDeployment => {
  if (version?.workflow_id !== deployment.workflow_id) return { deployment, refused: 'no_version' };
  const [wrong] = wrongVersion({ version, workflow: undefined });
  if (wrong) return { deployment, refused: wrongName(wrong.why) };
  const apart = machine && whyApart(version, machine);
  if (apart !== undefined) return { deployment, refused: wrongName(apart) };
  return { deployment: { ...deployment, workflow_version_id: version.id }, hasOwnVersion: true };
};

const wrongName = (why: string): InvalidRequest => ({
  kind: 'invalid',
  problems: [wrongValue(['body', 'deployment'], why)],
});

/** The id of the deployment that a filter names; undefined when it names none. `loc`: where the filter is. @throws {Refused} @throws {LogUnavailable} */
export const filteredDeploymentId = async (
  deployments: Catalogue['deployments'],
  org_id: OrgId,
  { deployment_id, deployment: name }: NamedByClient,
  loc: Invalid['loc'],
): Promise<string | undefined> => {
  if (typeof name !== 'string') return deployment_id?.toLowerCase();
  const at = [...loc, 'deployment'];
  if (typeof deployment_id === 'string') throw invalidRequest(twoDeployments(at));
  const named = filteredDeployment(await deployments.all(org_id), name);
  if (named.kind === 'found') return named.deployment.id;
  const why = named.kind === 'none' ? NO_SUCH_NAME : severalHaveName(named.deployments);
  throw invalidRequest(wrongValue(at, why));
};

export const NO_SUCH_NAME = 'the organisation has no deployment with this name';

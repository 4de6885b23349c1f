import type { Deployment } from '@runledger/contracts/catalogue/records';

/** Those of an organisation that have a name, as a request means it. */
export type DeploymentsOfName =
  | { readonly kind: 'found'; readonly deployment: Deployment }
  | { readonly kind: 'none' }
  /** All that have the name. */
  | { readonly kind: 'archived' | 'several'; readonly deployments: readonly Deployment[] };

/** Of those that are not archived one has the name, or it cannot be told which one is meant. */
const ofName = (all: readonly Deployment[], name: string): DeploymentsOfName => {
  const named = all.filter((one) => one.name === name);
  const [first, ...others] = named.filter(({ archived }) => !archived);
  if (first === undefined)
    return named.length === 0 ? { kind: 'none' } : { kind: 'archived', deployments: named };
  return others.length === 0
    ? { kind: 'found', deployment: first }
    : { kind: 'several', deployments: [first, ...others] };
};

/** What a filter means by a name: the only archived one, when all that have it are. */
export const filteredDeployment = (all: readonly Deployment[], name: string): DeploymentsOfName => {
  const found = ofName(all, name);
  if (found.kind !== 'archived') return found;
  const [only, ...others] = found.deployments;
  return only && others.length === 0
    ? { kind: 'found', deployment: only }
    : { kind: 'several', deployments: found.deployments };
};

/** `NAME@NUMBER`. A name may have an `@` itself. */
const WITH_NUMBER = /^(?<name>.+)@(?<number>\d+)$/s;

/** `number`: of the version that a request names; undefined for that of the deployment. */
type RequestedDeployment = DeploymentsOfName & { readonly number?: number };

/** What a request means that queues runs. A deployment of exactly this name comes first, also an archived one: what the text means does not change when it is archived. */
export const requestedDeployment = (all: readonly Deployment[], text: string): RequestedDeployment => {
  const exact = ofName(all, text);
  if (exact.kind !== 'none') return exact;
  const { name, number } = WITH_NUMBER.exec(text)?.groups ?? {};
  return name === undefined ? exact : { ...ofName(all, name), number: Number(number) };
};

/** As many are named. */
const MOST_NAMED = 10;

/** Why a name that several have cannot be used. */
export const severalHaveName = (deployments: readonly Deployment[]): string => {
  const ids = deployments.slice(0, MOST_NAMED).map(({ id }) => id);
  const more = deployments.length - ids.length;
  return `several deployments have this name: ${ids.join(', ')}${more > 0 ? ` and ${more} more` : ''}. Send the id of one of them as deployment_id`;
};

import { isJsonObject } from '@runledger/contracts/json';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { runOfDeliverySubject } from '@runledger/contracts/deliveries/delivery-attempts';
import type { SlicedStream, SliceHeader } from '@runledger/contracts/slices/slice';
import {
  matchesFilter,
  ALL_LIFECYCLES,
  ALL_WEBHOOKS,
  runOfSubject,
  type RunKey,
} from '@runledger/contracts/events/subjects';
import { SliceRefused } from './slice-sources.ts';

/** Which runs a slice is of; a list that is empty says nothing. */
type WantedRuns = Pick<SliceHeader, 'organisations' | 'deployments' | 'runs'>;

/** Some 100 MB of memory. */
const MAX_FOLLOWED = 1_000_000;

/**
 * Tells which messages a slice has. Only the first fact of a run names its deployment, so it remembers the runs of wanted deployments: a
 * run whose first fact it was not given is none of them. @throws {SliceRefused} for more runs than it can remember
 */
export const wantedFacts = (
  { organisations, deployments, runs }: WantedRuns,
  mostFollowed = MAX_FOLLOWED,
): ((stream: SlicedStream, message: StoredMessage) => boolean) => {
  const [ofOrganisations, ofDeployments, ofRuns] = [organisations, deployments, runs].map((ids) =>
    ids.length === 0 ? undefined : new Set(ids),
  );
  const followed = new Set<string>();
  const isOfDeployment = (run: RunKey, message: StoredMessage): boolean => {
    const id = compact(run.run_id);
    const deployment = deploymentOf(message);
    if (deployment !== undefined && ofDeployments?.has(deployment)) followed.add(id);
    if (followed.size > mostFollowed)
      throw new SliceRefused(
        `More than ${mostFollowed} runs of these deployments were queued in that time. Choose a shorter time.`,
      );
    return followed.has(id);
  };
  return (stream, message) => {
    if (stream === 'FLEET') return true;
    const run = stream === 'RUNS' ? runOfFact(message.subject) : runOfDeliverySubject(message.subject);
    if (!run) return false;
    if (ofOrganisations && !ofOrganisations.has(run.org_id)) return false;
    if (ofRuns && !ofRuns.has(run.run_id)) return false;
    return !ofDeployments || isOfDeployment(run, message);
  };
};

const runOfFact = (subject: string): RunKey | undefined =>
  matchesFilter(ALL_LIFECYCLES, subject) || matchesFilter(ALL_WEBHOOKS, subject)
    ? runOfSubject(subject)
    : undefined;

/** Only a gateway may write under these subjects. */
const NAMES_DEPLOYMENT = /\.life\.(?:queued|ended)\.gateway\./;

const deploymentOf = ({ subject, body }: StoredMessage): string | undefined => {
  if (!NAMES_DEPLOYMENT.test(subject) || !isJsonObject(body) || !isJsonObject(body['data'])) return undefined;
  const { data } = body;
  const request = isJsonObject(data['request']) ? data['request'] : data;
  const { deployment_id } = request;
  return typeof deployment_id === 'string' ? deployment_id : undefined;
};

/** A UUID in as many bytes as it has. Of a part of a longer text it would keep that whole text in memory. */
const compact = (uuid: string): string => Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('latin1');

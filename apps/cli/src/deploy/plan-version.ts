import { isDeepStrictEqual } from 'node:util';
import type { WorkflowInput } from '@runledger/contracts/catalogue/records';
import type { WorkflowVersion } from '@runledger/contracts/http/catalogue/workflow-versions';
import type { JsonValue } from '@runledger/contracts/json';
import type { Client } from '../api-client/client.ts';
import { readRecord } from '../catalogue/records.ts';
import { versionsOf } from '../catalogue/workflow-versions.ts';
import { CommandError } from '../output/command-error.ts';
import { randomSeeds } from './random-seeds.ts';
import { made, type Deployed, type Remember } from './take-back.ts';

interface VersionToDeploy {
  readonly workflow: JsonValue;
  /** Undefined for those of the present version. */
  readonly inputs: JsonValue | undefined;
  /** Whether the seeds that no input gives become random inputs. */
  readonly randomSeeds: boolean;
  /** The version that the deployment uses; undefined without one. */
  readonly usedId: string | undefined;
}

interface VersionPlan {
  /** What the service checks of it. */
  readonly checked: Readonly<Record<string, unknown>>;
  /** What the service says of the check, and where definitions are from that nobody gave. */
  readonly explained: (check: Promise<unknown>) => Promise<void>;
  readonly make: (workflowId: string, remember: Remember) => Promise<Deployed<WorkflowVersion>>;
}

/** The present version, when it is the same: the one that the deployment uses, or else the newest one. */
export const planVersion = async (
  client: Client,
  workflowId: string | undefined,
  { workflow, inputs, randomSeeds: withSeeds, usedId }: VersionToDeploy,
): Promise<VersionPlan> => {
  const present = workflowId === undefined ? undefined : await presentVersion(client, workflowId, usedId);
  const wanted = inputs ?? present?.inputs ?? [];
  const seeds = withSeeds && Array.isArray(wanted) ? randomSeeds(workflow, wanted as WorkflowInput[]) : [];
  const kept = seeds.length > 0 && Array.isArray(wanted) ? [...wanted, ...seeds] : wanted;
  const hasKept = inputs === undefined && present !== undefined && present.inputs.length > 0;
  if (present && isDeepStrictEqual(present.workflow, workflow) && isSameList(present.inputs, kept))
    return {
      checked: { workflow_version_id: present.id },
      explained: async (check) => void (await check),
      make: async () => ({ item: present, outcome: 'unchanged' }),
    };
  const version = { workflow, inputs: kept };
  return {
    checked: version,
    explained: async (check) => {
      try {
        await check;
      } catch (error) {
        const isAboutKept = error instanceof CommandError && hasKept && error.message.includes('body.inputs');
        if (!isAboutKept || error.refusal === undefined) throw error;
        const why = `${error.message} The definitions are those of version ${present.number}. ${OTHER_INPUTS}`;
        throw new CommandError(why, { refusal: error.refusal, cause: error });
      }
    },
    make: async (parentId, remember) => {
      const item = await made(client, versionsOf(parentId), version, remember);
      if (hasKept)
        client.screen.hint(`It has the input definitions of version ${present.number}. ${OTHER_INPUTS}`);
      return { item, outcome: 'new' };
    },
  };
};

const presentVersion = async (
  { call }: Client,
  workflowId: string,
  usedId: string | undefined,
): Promise<WorkflowVersion | undefined> => {
  const versions = versionsOf(workflowId);
  const newest = { method: 'GET', path: versions.path, query: { limit: 1 } } as const;
  const id = usedId ?? (await versions.readPage(call, newest)).items[0]?.id;
  return id === undefined ? undefined : readRecord(call, versions, id);
};

const OTHER_INPUTS = 'Give others with --inputs FILE, or none with --no-inputs.';

/** The service stores definitions without members that are null, and `required` always. */
const isSameList = (stored: WorkflowVersion['inputs'], given: JsonValue): boolean =>
  Array.isArray(given) &&
  isDeepStrictEqual(
    stored,
    given.map((input) =>
      typeof input === 'object' && input !== null
        ? {
            required: false,
            ...Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null)),
          }
        : input,
    ),
  );

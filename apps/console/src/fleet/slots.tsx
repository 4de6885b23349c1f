import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Schemas } from '../api/schemas.ts';
import { useDeployments } from '../deploy/use-deployments.ts';
import { useSession } from '../session/use-session.ts';
import { Lasted } from '../ui/time.tsx';
import { shortId } from '../ui/words.ts';

interface SlotsProps {
  readonly slots: readonly Schemas['ExecutorSlot'][];
  readonly executor: string;
}

/** The slots of an executor, each with its run. */
export const Slots = ({ slots, executor }: SlotsProps): ReactNode => (
  <ul className="slots" aria-label={`Slots of ${executor}`}>
    {slots.map(({ slot, gpu, loaded_workflow_version_id: loaded, run }) => (
      <li className={`slot ${run === null ? 'free' : 'busy'}`} key={slot}>
        <div>
          {gpu} <span className="quiet">slot {slot}</span>
        </div>
        {run === null ? 'free' : <Taken run={run} />}
        {loaded !== null && <Warm version={loaded} />}
      </li>
    ))}
  </ul>
);

/** A run of another organisation has no page for this one, so it has no link. */
const Taken = ({ run }: { readonly run: Schemas['SlotRun'] }): ReactNode => {
  const { data: session } = useSession();
  const { run_id, org_id, attempt, assigned_at, placement } = run;
  const organisation = session?.organisations.find(({ id }) => id === org_id);
  return (
    <>
      <div className="mono">
        {session?.organisation?.id === org_id ? (
          <Link to="/runs/$runId" params={{ runId: run_id }} title={run_id}>
            {shortId(run_id)}
          </Link>
        ) : (
          <span title={run_id}>{shortId(run_id)}</span>
        )}
      </div>
      <div>
        <Lasted from={assigned_at} to={null} />
        {attempt > 1 && `, attempt ${attempt}`}
      </div>
      <div className="quiet">{organisation?.name ?? `organisation ${shortId(org_id)}`}</div>
      {placement !== null && <div className="quiet">Here {placement.sentence}.</div>}
    </>
  );
};

/** The workflow of a version has a name for those whose deployment has the version. */
const Warm = ({ version }: { readonly version: string }): ReactNode => {
  const { data } = useDeployments();
  const deployment = data?.deployments.find((each) => each.workflow_version_id === version);
  return (
    <div className="quiet">
      Warm for {deployment?.name ?? <span title={version}>version {shortId(version)}</span>}
    </div>
  );
};

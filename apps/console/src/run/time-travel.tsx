import type { Run } from '../api/schemas.ts';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, type ReactNode } from 'react';
import { CopyButton } from '../ui/copy-button.tsx';
import { Problem } from '../ui/problem.tsx';
import { At } from '../ui/time.tsx';
import { counted } from '../ui/words.ts';
import { changedMembers } from './changed-members.ts';
import { useHistory, useRunAt } from './use-run.ts';
import { Fact, type HistoryFact } from './fact.tsx';
import { Members } from './members.tsx';
import './time-travel.css';

const route = getRouteApi('/shell/runs/$runId');

/** A way through the past of a run: a slider over its facts. The page around it shows the run as it was after the chosen one. */
export const TimeTravel = ({ run }: { readonly run: Run }): ReactNode => {
  const { at } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error } = useHistory(run.id, `${run.updated_at} ${run.webhook_status ?? ''}`);
  const entries = data?.entries;
  const facts = useMemo(
    () => (entries ?? []).filter((entry): entry is HistoryFact => entry.kind === 'fact'),
    [entries],
  );
  const gaps = (entries ?? []).filter((entry) => entry.kind === 'gap');
  // A position between two facts shows the earlier one.
  const index = at === undefined ? facts.length : facts.findLastIndex(({ sequence }) => sequence <= at);
  const fact = facts[index];
  const go = (to: number): void => {
    if (to < 0 || to > facts.length) return;
    const next = facts[to];
    void navigate({ search: next ? { at: next.sequence } : {}, replace: true, resetScroll: false });
  };
  useArrowKeys((step) => go(index + step));
  return (
    <section className="panel time-travel" aria-label="Time travel">
      {error && <Problem error={error} />}
      {gaps.map(({ sentence, time }) => (
        <p className="notice warm" key={`${time} ${sentence}`}>
          {sentence}
        </p>
      ))}
      <div className="row apart">
        <h2>
          {fact ? (
            <>
              After fact {index + 1} of {facts.length}: {fact.type}, <At time={fact.time} />
            </>
          ) : (
            <>Now{entries && `, after ${counted(facts.length, 'fact')}`}</>
          )}
        </h2>
        {fact && (
          <div className="row">
            <CopyButton text={location.href} label="Copy a link to this moment" />
            <button type="button" onClick={() => go(facts.length)}>
              Back to now
            </button>
          </div>
        )}
      </div>
      <input
        type="range"
        min={0}
        max={facts.length}
        value={Math.max(0, index)}
        disabled={facts.length === 0}
        aria-label="Moment of the run"
        aria-valuetext={fact ? `${fact.type}: ${fact.sentence}` : 'now'}
        onChange={({ target }) => go(Number(target.value))}
      />
      {fact && <Travelled run={run} facts={facts} index={index} fact={fact} />}
    </section>
  );
};

/** The arrow keys step through the facts, wherever the focus is, unless an element there takes them itself. */
const useArrowKeys = (step: (by: -1 | 1) => void): void => {
  const latest = useRef(step);
  useEffect(() => {
    latest.current = step;
  });
  useEffect(() => {
    const listener = ({ key, target, altKey, ctrlKey, metaKey }: KeyboardEvent): void => {
      if (altKey || ctrlKey || metaKey || (key !== 'ArrowLeft' && key !== 'ArrowRight')) return;
      if (
        target instanceof Element &&
        target.matches('input, select, textarea, video, audio, [role="dialog"] *')
      )
        return;
      latest.current(key === 'ArrowLeft' ? -1 : 1);
    };
    window.addEventListener('keydown', listener);
    return () => window.removeEventListener('keydown', listener);
  }, []);
};

interface TravelledProps {
  readonly run: Run;
  readonly facts: readonly HistoryFact[];
  readonly index: number;
  readonly fact: HistoryFact;
}

/** The fact, and how the run differed from what it was at another moment: by default, just before. */
const Travelled = ({ run, facts, index, fact }: TravelledProps): ReactNode => {
  const { from } = route.useSearch();
  const navigate = route.useNavigate();
  const other = from ?? facts[index - 1]?.sequence;
  const after = useRunAt(run.id, fact.sequence);
  const before = useRunAt(run.id, other);
  const changed = useMemo(
    () => (after.data && before.data ? changedMembers(before.data, after.data) : new Set<string>()),
    [before.data, after.data],
  );
  return (
    <div className="travelled">
      <Fact fact={fact} facts={facts} />
      <div>
        <label className="row">
          Compare with
          <select
            value={other ?? ''}
            onChange={({ target }) =>
              void navigate({
                search: { at: fact.sequence, from: Number(target.value) },
                replace: true,
                resetScroll: false,
              })
            }
          >
            {other === undefined && <option value="">nothing: this is the first fact</option>}
            {facts.map(({ sequence, type }, number) => (
              <option value={sequence} key={sequence}>
                {number + 1}: {type}
              </option>
            ))}
          </select>
        </label>
        {after.error && <Problem error={after.error} />}
        {after.data && (
          <Members
            run={after.data}
            before={other === undefined ? undefined : before.data}
            changed={changed}
          />
        )}
      </div>
    </div>
  );
};

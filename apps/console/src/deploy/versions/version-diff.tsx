import { diffLines } from 'diff';
import { useMemo, type ReactNode } from 'react';
import { Loading, Problem } from '../../ui/problem.tsx';
import { useVersion } from './use-version.ts';
import './version-diff.css';

interface VersionDiffProps {
  readonly workflowId: string;
  readonly olderId: string;
  readonly newerId: string;
}

const MARKS = { added: '+', removed: '−', same: ' ' } as const;
const CONTEXT = 3;

/** The lines in which two versions differ, with some around them. */
export const VersionDiff = ({ workflowId, olderId, newerId }: VersionDiffProps): ReactNode => {
  const older = useVersion(workflowId, olderId);
  const newer = useVersion(workflowId, newerId);
  const parts = useMemo(
    () =>
      older.data && newer.data ? diffLines(textOf(older.data.workflow), textOf(newer.data.workflow)) : [],
    [older.data, newer.data],
  );
  const error = older.error ?? newer.error;
  if (error) return <Problem error={error} />;
  if (!older.data || !newer.data) return <Loading what="both versions" />;
  const isEqual = parts.every(({ added, removed }) => !added && !removed);
  return (
    <section className="panel" aria-label="Difference">
      <h2>
        From version {older.data.number} to version {newer.data.number}
      </h2>
      {isEqual ? (
        <p className="quiet">They have the same workflow.</p>
      ) : (
        <div className="diff scrolls" tabIndex={0} role="region" aria-label="Lines that differ">
          {parts.map(({ value, added, removed }, index) => (
            <Part key={index} kind={added ? 'added' : removed ? 'removed' : 'same'} text={value} />
          ))}
        </div>
      )}
    </section>
  );
};

const Part = ({ kind, text }: { readonly kind: keyof typeof MARKS; readonly text: string }): ReactNode => {
  const lines = text.replace(/\n$/, '').split('\n');
  const isLong = kind === 'same' && lines.length > 2 * CONTEXT;
  const shown = isLong ? [...lines.slice(0, CONTEXT), '…', ...lines.slice(-CONTEXT)] : lines;
  return (
    <pre className={kind}>
      {kind !== 'same' && <span className="visually-hidden">{kind}: </span>}
      {shown.map((line) => `${MARKS[kind]} ${line}`).join('\n')}
    </pre>
  );
};

const textOf = (workflow: unknown): string => `${JSON.stringify(workflow, undefined, 2)}\n`;

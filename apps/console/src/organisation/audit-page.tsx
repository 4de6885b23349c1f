import { getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { answered, api } from '../api/client.ts';
import type { Schemas } from '../api/schemas.ts';
import { usePages } from '../api/use-pages.ts';
import { useMembers } from './use-members.ts';
import { List } from '../ui/list.tsx';
import { Ago } from '../ui/time.tsx';
import { ACTIONS, RINGS, withAuditMember, type AuditFilter } from './audit-filter.ts';
import { auditedActions, type AuditedAction } from './audited-actions.ts';

const route = getRouteApi('/shell/audit');

const PAGE = 100;

/** Who did what. */
export const AuditPage = (): ReactNode => {
  const filter: AuditFilter = route.useSearch();
  const navigate = route.useNavigate();
  const { pages, ...list } = usePages(['audit', filter], async (page, signal) =>
    answered(
      api.GET('/audit', {
        params: { query: { limit: PAGE, ...filter, ...page } },
        signal,
      }),
    ),
  );
  return (
    <div className="stack">
      <h1>Audit</h1>
      <p className="quiet">
        Who did what, newest first. Nobody can change or remove a record. They are kept for about a year,
        unless the installation says otherwise, and of each kind the newest.
      </p>
      <Older left={pages.at(-1)?.left ?? []} />
      <Filter filter={filter} onChange={(search) => void navigate({ search, replace: true })} />
      <List
        what="audit records"
        columns={['When', 'Who', 'Did', 'To', 'Outcome', 'More']}
        empty="No record matches what is chosen above."
        rows={auditedActions(pages.flatMap(({ records }) => records)).map((action) => (
          <ActionRow key={action.id} action={action} />
        ))}
        {...list}
      />
    </div>
  );
};

/** What is no longer here. */
const Older = ({ left }: { readonly left: NonNullable<Schemas['AuditPage']['left']> }): ReactNode =>
  left.length > 0 && (
    <ul className="quiet">
      {left.map(({ ring, before }) => (
        <li key={ring}>
          {RINGS[ring] ?? ring} from before <Ago time={before} /> may have left, because newer ones took their
          place.
        </li>
      ))}
    </ul>
  );

interface FilterProps {
  readonly filter: AuditFilter;
  readonly onChange: (filter: AuditFilter) => void;
}

const Filter = ({ filter, onChange }: FilterProps): ReactNode => (
  <div className="row" role="search" aria-label="Which records are shown">
    <select
      aria-label="Action"
      value={filter.action ?? ''}
      onChange={({ target }) => onChange(withAuditMember(filter, 'action', target.value))}
    >
      <option value="">All actions</option>
      {Object.keys(ACTIONS).map((action) => (
        <option value={action} key={action}>
          {action}
        </option>
      ))}
    </select>
    <Day name="since" title="From (UTC)" filter={filter} onChange={onChange} />
    <Day name="until" title="Before (UTC)" filter={filter} onChange={onChange} />
    {Object.keys(filter).length > 0 && (
      <button type="button" onClick={() => onChange({})}>
        Show all
      </button>
    )}
  </div>
);

interface DayProps extends FilterProps {
  readonly name: 'since' | 'until';
  readonly title: string;
}

const Day = ({ name, title, filter, onChange }: DayProps): ReactNode => (
  <label className="row">
    {title}
    <input
      type="date"
      value={filter[name] ?? ''}
      onChange={({ target }) => onChange(withAuditMember(filter, name, target.value))}
    />
  </label>
);

const OUTCOMES = {
  requested: ['running', 'no outcome yet'],
  done: ['success', 'done'],
  refused: ['failed', 'refused'],
  unknown: ['failed', 'unknown: it may have taken effect'],
} as const satisfies Record<AuditedAction['outcome'], readonly [string, string]>;

const ActionRow = ({ action }: { readonly action: AuditedAction }): ReactNode => {
  const [shape, words] = OUTCOMES[action.outcome];
  return (
    <tr>
      <td>
        <Ago time={action.time} />
      </td>
      <td>
        <Who actor={action.actor} />
      </td>
      <td>
        {/* A newer service may name an action that this page does not know. */}
        {ACTIONS[action.action] ?? action.action}
        <div className="quiet mono">{action.action}</div>
      </td>
      <td>
        {action.target.kind}
        {action.target.id !== null && <div className="mono breaks">{action.target.id}</div>}
      </td>
      <td>
        <span className={`status ${shape}`}>{words}</span>
      </td>
      <td>
        <More action={action} />
      </td>
    </tr>
  );
};

const Who = ({ actor }: Pick<AuditedAction, 'actor'>): ReactNode => {
  switch (actor.kind) {
    case 'key':
      return (
        <>
          API key <div className="mono breaks">{actor.key_id}</div>
          {actor.address !== null && <div className="quiet">from {actor.address}</div>}
        </>
      );
    case 'session':
      return (
        <>
          Person <Person userId={actor.user_id} />
          {actor.address !== null && <div className="quiet">from {actor.address}</div>}
        </>
      );
    case 'operator':
      return 'the operator, on the command line';
    case 'unknown':
      return `a client of ${actor.network}`;
  }
};

/** Who has left has no name any more. */
const Person = ({ userId }: { readonly userId: string }): ReactNode => {
  const { data } = useMembers();
  const member = data?.members.find(({ user_id }) => user_id === userId);
  return member ? <div title={userId}>{member.email}</div> : <div className="mono breaks">{userId}</div>;
};

const More = ({ action: { details, request_id, org_id } }: { readonly action: AuditedAction }): ReactNode => {
  const entries = Object.entries(details);
  if (entries.length === 0 && request_id === null && org_id === null) return null;
  return (
    <details>
      <summary>Details</summary>
      <dl className="facts">
        {entries.map(([name, value]) => (
          <Detail key={name} name={name} value={Array.isArray(value) ? value.join(', ') : String(value)} />
        ))}
        {org_id !== null && <Detail name="organisation" value={org_id} />}
        {request_id !== null && <Detail name="request" value={request_id} />}
      </dl>
    </details>
  );
};

const Detail = ({ name, value }: { readonly name: string; readonly value: string }): ReactNode => (
  <>
    <dt>{name}</dt>
    <dd className="mono">{value}</dd>
  </>
);

import type { ReactNode } from 'react';
import { useDeployments } from '../deploy/use-deployments.ts';
import type { Schemas } from '../api/schemas.ts';
import { submitted } from '../ui/submitted.ts';
import { SearchField } from './search-field.tsx';
import { STATUSES, withMember, type RunFilter, type RunStatus } from './run-filter.ts';

interface FilterBarProps {
  readonly filter: RunFilter;
  readonly onChange: (filter: RunFilter) => void;
}

/** Changes which runs are shown. */
export const FilterBar = ({ filter, onChange }: FilterBarProps): ReactNode => (
  <div className="row" role="search" aria-label="Which runs are shown">
    <SearchField
      search={filter.search ?? ''}
      onSearch={(search) => onChange(withMember(filter, 'search', search))}
    />
    <DeploymentChoice filter={filter} onChange={onChange} />
    <Tags filter={filter} onChange={onChange} />
    {Object.keys(filter).length > 0 && (
      <button type="button" onClick={() => onChange({})}>
        Show all runs
      </button>
    )}
  </div>
);

interface StatusChoiceProps extends FilterBarProps {
  readonly counts: Schemas['RunCounts'] | undefined;
}

/** The statuses to choose from, with how many runs have each. */
export const StatusChoice = ({ filter, onChange, counts }: StatusChoiceProps): ReactNode => {
  const chosen = filter.status ?? [];
  const toggle = (status: RunStatus): void =>
    onChange(
      withMember(
        filter,
        'status',
        chosen.includes(status) ? chosen.filter((one) => one !== status) : [...chosen, status],
      ),
    );
  return (
    <div className="row" role="group" aria-label="Statuses">
      {STATUSES.map((status) => (
        <button
          type="button"
          className={`chip ${chosen.includes(status) ? 'chosen' : ''}`}
          key={status}
          aria-pressed={chosen.includes(status)}
          onClick={() => toggle(status)}
        >
          <span className={`status ${status}`}>{status}</span>
          {counts && (
            <span>
              {counts.counts[status].toLocaleString('en')}
              {!counts.complete && '+'}
            </span>
          )}
        </button>
      ))}
    </div>
  );
};

const DeploymentChoice = ({ filter, onChange }: FilterBarProps): ReactNode => {
  const { data } = useDeployments();
  return (
    <select
      aria-label="Deployment"
      value={filter.deployment_id ?? ''}
      onChange={({ target }) => onChange(withMember(filter, 'deployment_id', target.value))}
    >
      <option value="">All deployments</option>
      {data?.deployments.map(({ id, name }) => (
        <option value={id} key={id}>
          {name}
        </option>
      ))}
    </select>
  );
};

const TAG = '[A-Za-z0-9_.:/\\-]{1,64}';

const Tags = ({ filter, onChange }: FilterBarProps): ReactNode => {
  const tags = filter.tag ?? [];
  return (
    <>
      <form
        onSubmit={(event) => {
          const tag = submitted(event)('tag');
          event.currentTarget.reset();
          if (tag !== '' && !tags.includes(tag)) onChange(withMember(filter, 'tag', [...tags, tag]));
        }}
      >
        <input
          name="tag"
          aria-label="Add a tag"
          placeholder="Add a tag"
          pattern={TAG}
          title="Letters, digits and _ . : / -"
        />
      </form>
      {tags.map((tag) => (
        <button
          type="button"
          key={tag}
          aria-label={`Remove the tag ${tag}`}
          onClick={() =>
            onChange(
              withMember(
                filter,
                'tag',
                tags.filter((one) => one !== tag),
              ),
            )
          }
        >
          {tag} ×
        </button>
      ))}
    </>
  );
};

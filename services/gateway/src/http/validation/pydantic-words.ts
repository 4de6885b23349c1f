import type { TValidationError } from 'typebox/error';
import { isNode, type Node } from './node.ts';
import { tagOf, tagsOf } from './union-branch.ts';

export interface RefusedValue {
  readonly error: TValidationError;
  /** The schema that refused it. */
  readonly node: Node;
  readonly value: unknown;
  /** It came as text and could not be read as what it should be. */
  readonly isText: boolean;
}

export interface Words {
  /** Members under the value that it is about; the value itself when left out. */
  readonly within?: readonly string[];
  readonly type: string;
  readonly msg: string;
}

export const NOT_A_UUID =
  'Input should be a valid UUID, of the form xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx in hexadecimal digits';

/** The type and message that pydantic 2 gives for what is wrong with a value. */
export const refusalOf = (refused: RefusedValue): readonly Words[] => {
  const { error, node } = refused;
  const own = ownWords(node);
  if (own) return [own];
  switch (error.keyword) {
    case 'required':
      return error.params.requiredProperties.map((name) => ({
        within: [name],
        type: 'missing',
        msg: 'Field required',
      }));
    case 'additionalProperties':
      return error.params.additionalProperties.map((name) => ({
        within: [name],
        type: 'extra_forbidden',
        msg: 'Extra inputs are not permitted',
      }));
    case 'type':
      return [wrongType(refused)];
    case 'enum':
      return [{ type: 'enum', msg: `Input should be ${choice(error.params.allowedValues)}` }];
    case 'const':
      return [{ type: 'literal_error', msg: `Input should be ${choice([error.params.allowedValue])}` }];
    case 'format':
      return [wrongFormat(error.params.format)];
    case 'anyOf':
      return [wrongBranch(refused)];
    case 'pattern':
      return [
        { type: 'string_pattern_mismatch', msg: `String should match pattern '${textIn(node, 'pattern')}'` },
      ];
    case 'minLength':
      return [
        { type: 'string_too_short', msg: `String should have at least ${characters(error.params.limit)}` },
      ];
    case 'maxLength':
      return [
        { type: 'string_too_long', msg: `String should have at most ${characters(error.params.limit)}` },
      ];
    case 'minItems':
      return [{ type: 'too_short', msg: `List should have at least ${items(error.params.limit)}` }];
    case 'maxItems':
      return [{ type: 'too_long', msg: `List should have at most ${items(error.params.limit)}` }];
    case 'minimum':
      return [
        { type: 'greater_than_equal', msg: `Input should be greater than or equal to ${error.params.limit}` },
      ];
    case 'maximum':
      return [
        { type: 'less_than_equal', msg: `Input should be less than or equal to ${error.params.limit}` },
      ];
    case 'exclusiveMinimum':
      return [{ type: 'greater_than', msg: `Input should be greater than ${error.params.limit}` }];
    case 'exclusiveMaximum':
      return [{ type: 'less_than', msg: `Input should be less than ${error.params.limit}` }];
    // Schemas of this API use none of these.
    case '~refine':
    case 'boolean':
    case 'contains':
    case 'dependencies':
    case 'dependentRequired':
    case 'if':
    case 'maxProperties':
    case 'minProperties':
    case 'multipleOf':
    case 'not':
    case 'oneOf':
    case 'propertyNames':
    case 'unevaluatedItems':
    case 'unevaluatedProperties':
    case 'uniqueItems':
      return [{ type: 'value_error', msg: 'Value error, the input does not fit its description' }];
  }
};

/** What a schema says itself of values that it does not take. */
const ownWords = (node: Node): Words | undefined => {
  const said = node['x-refusal'];
  return isNode(said) ? { type: textIn(said, 'type'), msg: textIn(said, 'msg') } : undefined;
};

const textIn = (node: Node, name: string): string => {
  const text = node[name];
  return typeof text === 'string' ? text : '';
};

const wrongType = ({ node, value, isText }: RefusedValue): Words => {
  switch (node['type']) {
    case 'string':
      return wrongText(textIn(node, 'format'));
    case 'integer':
      if (isText) return { type: 'int_parsing', msg: `${INTEGER}, unable to parse string as an integer` };
      if (typeof value === 'number')
        return { type: 'int_from_float', msg: `${INTEGER}, got a number with a fractional part` };
      return { type: 'int_type', msg: INTEGER };
    case 'number':
      if (isText) return { type: 'float_parsing', msg: `${NUMBER}, unable to parse string as a number` };
      return { type: 'float_type', msg: NUMBER };
    case 'boolean':
      if (isText) return { type: 'bool_parsing', msg: `${BOOLEAN}, unable to interpret input` };
      return { type: 'bool_type', msg: BOOLEAN };
    case 'array':
      return { type: 'list_type', msg: 'Input should be a valid list' };
    case 'object':
      return node['title'] === undefined
        ? { type: 'dict_type', msg: 'Input should be a valid dictionary' }
        : {
            type: 'model_attributes_type',
            msg: 'Input should be a valid dictionary or object to extract fields from',
          };
    default:
      return {
        type: 'value_error',
        msg: 'Value error, the input is of another type than its description says',
      };
  }
};

const INTEGER = 'Input should be a valid integer';
const NUMBER = 'Input should be a valid number';
const BOOLEAN = 'Input should be a valid boolean';

const wrongText = (format: string): Words => {
  switch (format) {
    case 'uuid':
      return { type: 'uuid_type', msg: 'UUID input should be a string, bytes or UUID object' };
    case 'uri':
    case 'webhook-url':
      return { type: 'url_type', msg: 'URL input should be a string or URL' };
    case 'date-time':
    case 'time-or-day':
      return { type: 'datetime_type', msg: 'Input should be a valid datetime' };
    default:
      return { type: 'string_type', msg: 'Input should be a valid string' };
  }
};

const wrongFormat = (format: string): Words => {
  switch (format) {
    case 'uuid':
      return { type: 'uuid_parsing', msg: NOT_A_UUID };
    case 'uri':
      return { type: 'url_parsing', msg: 'Input should be a valid URL' };
    case 'date-time':
    case 'time-or-day':
      return {
        type: 'datetime_parsing',
        msg: 'Input should be a valid datetime in ISO 8601 with its offset, such as 2026-01-31T09:30:00Z, or a day',
      };
    default:
      return { type: 'value_error', msg: `Value error, the input is no ${format}` };
  }
};

const wrongBranch = ({ node, value }: RefusedValue): Words => {
  const tag = tagOf(node);
  if (tag === undefined) {
    return { type: 'value_error', msg: 'Value error, the input is none of the forms that are described' };
  }
  const tags = choice(tagsOf(node, tag));
  if (!isNode(value)) {
    return {
      type: 'model_attributes_type',
      msg: 'Input should be a valid dictionary or object to extract fields from',
    };
  }
  return Object.hasOwn(value, tag)
    ? {
        type: 'union_tag_invalid',
        msg: `Input tag found using '${tag}' does not match any of the expected tags: ${tags}`,
      }
    : {
        type: 'union_tag_not_found',
        msg: `Unable to extract tag using discriminator '${tag}': ${tags} is expected`,
      };
};

const choice = (values: readonly unknown[]): string => {
  const quoted = values.map((value) => `'${String(value)}'`);
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1) ?? ''}`;
};

const characters = (count: number): string => (count === 1 ? '1 character' : `${count} characters`);
const items = (count: number): string => (count === 1 ? '1 item' : `${count} items`);

import { Type } from 'typebox';

/** The options of every setting, besides those of its type. */
export interface SettingOptions<Value> {
  /** Shown to the operator if the value is missing or wrong, and in docs/settings.md. */
  readonly description: string;
  readonly default?: Value;
  /** Never printed. It may also stand in a file that `NAME_FILE` names. */
  readonly secret?: boolean;
  /** The empty string is a value. By default it counts as not set. */
  readonly emptyIsValue?: boolean;
}

/** A TCP port to listen on; 0 takes a free one. */
export const port = (options: SettingOptions<number>): Type.TInteger =>
  Type.Integer({ minimum: 0, maximum: 65_535, ...options });

/** A duration in seconds, fractions allowed; not negative. */
export const seconds = (
  options: SettingOptions<number> & { readonly minimum?: number; readonly maximum?: number },
): Type.TNumber => Type.Number({ minimum: 0, unit: 'seconds', ...options });

/** A text that is never printed, for example a key. It may also stand in a file that `NAME_FILE` names. */
export const secret = (options: SettingOptions<string>): Type.TString =>
  Type.String({ minLength: 1, ...options, secret: true });

/** One of a few fixed words. */
export const oneOf = <const Words extends string[]>(
  words: readonly [...Words],
  options: SettingOptions<NoInfer<Words[number]>>,
): Type.TEnum<Words> => Type.Enum<Words>(words, { ...options });

/** Values separated by commas, each converted and checked by `item`. Spaces around values and empty values are dropped. */
export const list = <Item extends Type.TSchema>(
  item: Item,
  options: SettingOptions<readonly Type.Static<Item>[]> & {
    readonly minItems?: number;
    readonly maxItems?: number;
  },
): Type.TArray<Item> => Type.Array(item, { ...options });

/** An absolute URL, unchanged. `protocols` as in `URL.protocol`, with the colon. */
export const url = ({
  protocols = ['http:', 'https:'],
  ...options
}: SettingOptions<string> & { readonly protocols?: readonly string[] }): Type.TRefine<Type.TString> =>
  Type.Refine(
    Type.String({ ...options, protocols }),
    (text) => protocols.includes(URL.parse(text)?.protocol ?? ''),
    () => `is not a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  );

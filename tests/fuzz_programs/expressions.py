"""Expressions that random programs are made of, by the kind of their value; ``grammar`` says what placeholders mean.

An ``array`` has the shape of the call's arguments or one that broadcasts to it, an ``any`` some shape; numbers are
small and have few binary digits, so that what is computed of them is exact. What could grow without end in a loop is
cut. The forms in ``INEXACT`` depend on the order of additions.
"""

EXPRESSIONS = """
[small]
1
2
3
4
[few]
0
1
2
3
4
[key]
'a'
'b'
'c'
<str>

[int]
0
1
2
5
-3
<int> + <int>
<int> - <int>
<int> * <small>
<int> // <small>
<int> % <small>
<int> // (<int> % 4)
-<int>
abs(<int>)
<int> & <int>
<int> | <small>
<int> ^ <int>
<int> << <few>
<int> >> <few>
max(<int>, <int>)
min(<int>, <int>, <int>)
len(<ints>)
len(<str>)
len(<table>)
len(<arrays>)
len(<set>)
<ints>[<few>]
<ints>[-1]
<ints>[<int>]
<table>.get(<key>, <int>)
<table>[<key>]
<table>.pop(<key>, <int>)
sum(<ints>)
sum(<ints>, <int>)
int(<float>)
int(<bool>)
int(<array>.max())
int(<scalar>)
<array>.shape[0]
<array>.ndim
<any>.size
len(<array>)
<int> if <bool> else <int>
<int> and <int>
<int> or <int>
(lambda <~int>: <int*>)(<int>)
(lambda <~int:a>, <~int:b>=<int>: <int*>)(<int>)
<fi>(<int>)
sum(<int*> for <~int> in <ints>)
next((<~int:a> for <:a> in <ints> if <bool*>), <int>)
next(<gen>, <int>)
round(<float>)
<str>.count('a')
<str>.find('b')
functools.reduce(lambda <~int:a>, <~int:b>: <int*>, <ints>, <int>)
operator.add(<int>, <int>)
math.gcd(<int>, <int>)
<pair>[0]
<box>.n
<box>.total()
<box>.twice
<box>[<int>]
<box>(<int>)
<-me>.n
len(<box>)
getattr(<box>, 'n', <int>)
Box.made
int('1' + str(<few>))
<ints>.index(<int>)
<ints>.count(<int>)
divmod(<int>, <small>)[1]
sorted(<ints>)[0]
int(np.argmax(<array>))
dict(zip('ab', <ints>)).get('a', <int>)
<int>.bit_length()
(<int>).__add__(<int>)

<int> if <array>.max() > <num> else <int>
<ints>.pop()
many(*<ints>[:3])
recursive(<few>, <int>)
globals().get('COUNTER', <int>)
hash(<int>)
[<int>, <int>][<bool>]
(<int>, <int>, <int>)[<few>]
'abc'.index(<key>)
int(<scalar> + <int>)
<array>.argmax()
<array>.tolist()[0]
sum(1 for <~int> in <ints> if <bool*>)
min(<ints>, default=<int>)
max(<ints>, key=lambda <~int>: <int*>)
len({*<ints>, <int>})
len([*<ints>, *<ints>])
operator.itemgetter(0)(<ints>)
operator.attrgetter('n')(<box>)
next(iter(<ints>), <int>)
(lambda *<~tail:t>, **<~table:k>: len(<:t>) + len(<:k>))(*<ints>, a=<int>)

[float]
0.5
1.5
-2.0
<float> + <float>
<float> - <int>
<float> * <small>
<float> / 2
abs(<float>)
float(<int>)
<int> / 4
max(<float>, <int>)
float(<array>.max())
min(<float>, <float>)
<float> if <bool> else <float>
-<float>
math.floor(<float>) + 0.5
<float> // <small>
<float> % <small>

[bool]
True
False
<int> > <int>
<int> == <int>
<int> < <int> <= <int>
<float> > <int>
<array>.max() > <int>
<array>.any()
bool(<mask>.all())
(<array> > <int>).any()
<scalar> > <int>
not <bool>
<bool> and <bool>
<bool> or <bool>
<int> in <ints>
<int> not in <set>
<key> in <table>
<str> == <str>
<str>.startswith('a')
<array> is <array>
<ints> is not <ints>
isinstance(<num>, int)
isinstance(<box>, Child)
<array>.ndim > 1
<array>.dtype == np.float64
<array>.dtype.kind == 'i'
hasattr(<box>, 'extra')
any(<bool*> for <~int> in <ints>)
all([<bool*> for <~int> in <ints>])
<box> == <box>
<box> is <box>
bool(<ints>)
bool(<str>)
callable(<fi>)
<num> is None
type(<num>) is float
np.array_equal(<any>, <any>)
np.shares_memory(<array>, <array>)

<array> is <array> or <ints> == <ints>
<table> == <table>
<table>.get('a') is None
<int> < <float> < <int>
<set> <= <set>
<str> in <str>
<str> < <str>
issubclass(type(<box>), Box)
isinstance(<array>, np.ndarray) and <bool>
<array>.flags.writeable
<array>.base is None
(<array> == <array>).all()
np.all(<array> == <array>)
np.isscalar(<num>)
<failure>.args == ()
<int> is None
not <ints>
not <box>
1 < <array>.ndim <= <int>
<array>.shape == <array>.shape

[num]
<int>
<float>
<scalar>
<bool>

[scalar]
<array>.max()
<array>.min()
<any>.max()
np.float64(<float>)
np.int64(<few>)
<scalar> + <int>
<scalar> * <small>
abs(<scalar>)
np.maximum(<scalar>, <num>)
<array>.reshape(-1)[0]
<array>.flat[0]
np.float32(0.5)
np.count_nonzero(<array>) + np.int64(1)

[str]
''
'a'
'b'
'ab'
(<str> + <str>)[:9]
<str>.upper()
<str>.replace('a', 'c')
str(<int>)[:6]
f"{<-int>}"
f"{<-float>:.2f}|{<-int>:>4}"
f"{<-int>!r}={<-array>.shape}"
f"{<-str>!r:>8}"
'-'.join([<str>, <str>])[:9]
<str>[::-1]
<str>[<int>:]
<str>.strip()
repr(<bool>)
str(<array>.dtype)
str(<array>.shape)
<str> * <few>
'%d and %s' % (<int>, <bool>)
'{} {}'.format(<int>, <bool>)
type(<num>).__name__
<str> if <bool> else <str>
<box>.name()
'{0[a]}'.format({'a': <int>})

[ints]
[]
[1, 2, 3]
[<int>, <int>]
[<int>, *<ints>][:6]
(<ints> + <ints>)[:6]
list(range(<few>))
[<int*> for <~int> in <ints>]
[<int*> for <~int> in <ints> if <bool*>]
[<int*> for <~int> in range(<few>)]
[<int*> for <~int:a> in range(2) for <~int:b> in range(<few>)]
sorted(<ints>)
sorted(<ints>, key=lambda <~int>: <int*>, reverse=<bool>)
list(reversed(<ints>))
<ints>[:<int>]
<ints>[::-1]
list(<gen>)[:6]
list(map(<fi>, <ints>))
list(filter(None, <ints>))
list(<table>.values())
[<~int:a> * <~int:b> for <:a>, <:b> in zip(<ints>, <ints>)]
[<~int:a> + <~int:b> for <:a>, <:b> in enumerate(<ints>)]
<box>.items
<-me>.items
list(<set>)
list(<array>.shape)
<array>.astype(np.int64).reshape(-1)[:3].tolist()
list(itertools.chain(<ints>, <ints>))[:6]
list(itertools.islice(<ints>, <few>))
list(itertools.accumulate(<ints>))
<ints>.copy()
[<int>] * <few>
[<int> if <bool> else <int>]
[int(<~scalar:v>) for <:v> in <any>.reshape(-1)[:3]]

[arrays]
[<array>, <array>]
[<array>]
[<array*> for <~int> in range(<few>)]
[<~array:a> + <int> for <:a> in <arrays>]
list(<params>.values())
<arrays>[:2]
<arrays>[::-1]
[<array> for <~array:a> in <arrays> if <:a>.ndim]
list(<agen>)[:4]
list(map(<fn>, <arrays>))
(<arrays> + [<array>])[-3:]

[table]
{}
{'a': <int>, 'b': <int>}
{<key>: <int>, **<table>}
{<~str:k>: <int*> for <:k> in 'abc'}
{<~str:k>: <~int:v> + <int> for <:k>, <:v> in <table>.items()}
dict(a=<int>, c=<int>)
dict(<table>, b=<int>)
<table> | {'c': <int>}
<table>.copy()
dict(zip('abc', <ints>))

[params]
{'w': <array>, 'b': <array>}
{<~str:k>: <~array:v> * 2 for <:k>, <:v> in <params>.items()}
{**<params>, 'w': <array>}
dict(w=<array>)

[pair]
(<int>, <array>)
(<int>, <array*>)
<int>, <array>

[set]
set()
{<int>, <int>}
{<int*> for <~int> in <ints>}
set(<ints>)
<set> | {<int>}
<set> & <set>
<set> - {<int>}

[fi]
abs
lambda <~int>: <int*>
lambda <~int:a>, <~int:b>=<int>: <int*>
functools.partial(operator.add, <int>)
<box>
operator.neg
<box>.scaled

[fn]
np.abs
lambda <~array>: <array*>
lambda <~array:a>, <~int:b>=<int>: <array*>
functools.partial(np.maximum, <int>)
<box>.apply

[gen]
(<int*> for <~int> in <ints>)
iter(<ints>)
iter(range(<few>))
(<~int:a> for <:a> in range(<few>) if <bool*>)
<box>.walk()
iter(<box>)
map(<fi>, <ints>)

[agen]
(<array*> for <~int> in range(<few>))
iter(<arrays>)
(<~array:a> - 1 for <:a> in <arrays>)

[mask]
<array> > <num>
<array> == <array>
<array> <= <array>
~<mask>
<mask> & <mask>
<mask> | (<array> != <int>)
np.isfinite(<array>)
np.logical_not(<array>)

[array]
<array> + <array>
<array> - <array>
<array> * <small>
<array> + <num>
<num> - <array>
-<array>
abs(<array>)
np.abs(<array>)
np.add(<array>, <array>)
np.maximum(<array>, <array>)
np.minimum(<array>, <num>)
np.clip(<array>, -4, <int>)
np.where(<mask>, <array>, <array>)
np.where(<mask>, <num>, <array>)
(<array> * <array>) % 8
<array> // 2
<array> % 4
<array> / 2
np.floor(<array>)
np.square(<array> % 4)
np.sign(<array>)
<array>.copy()
<array>.astype(np.float64)
<array>.astype(np.int64)
<array>.astype(np.float32)
<array>[...]
<array>[::-1]
<array>[:]
np.zeros_like(<array>)
np.ones_like(<array>)
np.full_like(<array>, <int>)
np.zeros(<array>.shape)
np.arange(<array>.size).reshape(<array>.shape)
<array> - <array>.max()
<array> + <scalar>
<array> * <mask>
<array> if <bool> else <array>
<fn>(<array>)
(lambda <~array>: <array*>)(<array>)
<arrays>[0]
<arrays>[-1]
<arrays>[<few>]
<params>['w']
<params>.get('b', <array>)
<pair>[1]
<box>.data
<-me>.data
<box>.apply(<array>)
(<box> + <array>).data
<box> @ <array>
next(<agen>, <array>)
sum(<arrays>)
sum(<arrays>, <array>)
functools.reduce(np.add, <arrays>, <array>)
np.cumsum(<array>).reshape(<array>.shape)
np.asarray(<array>)
np.sort(<array>)
<array>.T.T
<array>.reshape(-1).reshape(<array>.shape)
np.stack([<array>, <array>])[0]
np.sum([<array>, <array>], axis=0)
np.roll(<array>, 1)
<array>.clip(0, 3)
np.array(<array>)
<array> ** 2 % 16
+<array>
np.zeros(<array>.shape, dtype=np.int64) + <int>

[any]
<array>
<array>[1:]
<array>[1:] - <array>[:-1]
<array>[0]
<array>[..., 0]
<array>[None]
<array>.T
<array>.reshape(-1)
<array>.ravel()
<array>.max(axis=0)
<array>.min(axis=-1)
np.concatenate([<array>, <array>])
np.stack(<arrays>)
np.array(<ints>)
np.arange(<few>)
np.zeros((2, <small>))
<any> + <num>
<any> * 2
np.abs(<any>)
<any>[::-1]
<array>[<mask>]
<array>[<ints>]
np.array([<num>, <num>])
<any>.astype(np.int64)
<any>.reshape(-1)[::2]
np.repeat(<any>, 2)[:6]
np.where(<mask>)[0]
<mask>
np.array(<num>)
<any>.astype(np.int64).sum(axis=0)
np.outer(<any>, <any>)[:3, :3]
np.diag(<any>)[:3]
np.unique(<any>)
<any>.flatten()
np.squeeze(<any>)
np.expand_dims(<any>, 0)

[view]
<-array>
<-array>
<-array>
<-array>[...]
<-array>[::-1]
<-array>.T
<-array>[1:]
<-array>[..., 0]
<-arrays>[0]
<-params>['w']
<-box>.data
<-pair>[1]
np.flip(<-array>)

[box]
Box(<int>, <array>)
Child(<int>, <array>)
Box(<int>, data=<array>)
<box> + <array>
<box> if <bool> else <box>
Box.plain(<array>)
make_box(<int>, <array>)
copy.copy(<box>)

[error]
ValueError
KeyError
IndexError
ZeroDivisionError
TypeError
Wrong
Worse
(LookupError if <bool> else ValueError)

[exc]
ValueError('made')
Wrong(<int>)

[tail]
()

[thunk]
print

[failure]
Wrong('kept')

[local]
Child

[point]
Point(1, WEIGHT)

[record]
Record(1)

[slotted]
Slotted(1, WEIGHT)

[lazy]
Lazy({'a': 1})

[driven]
echo(1)

[maker]
range

[fis]
[abs]
"""

INEXACT = """
[scalar]
<array>.sum()
<any>.mean()
np.sum(<any>)

[float]
float(<array>.sum())
<float> / 3
<float> * 0.1

[bool]
<array>.sum() > <num>
<any>.mean() < <num>

[array]
<array> - <array>.mean()
<array> * 0.1
<array> / (abs(<array>) + 1)
<array> / <array>
np.sqrt(abs(<array>))
<array> / 3

[any]
<array>.sum(axis=0)
<array> @ <array>
np.dot(<array>, <array>)
<array>.sum(axis=-1, keepdims=True)
np.cumsum(<array>)
"""
